package kubetest

import "time"

// Comes polls done, and reports whether it became true within a minute, longer than a busy machine
// takes. It polls less and less often, to leave the processors to what it waits for.
func Comes(done func() bool) bool {
	for began := time.Now(); !done(); {
		waited := time.Since(began)
		if waited > time.Minute {
			return false
		}
		<-time.After(min(2*time.Millisecond+waited/16, 100*time.Millisecond))
	}
	return true
}
