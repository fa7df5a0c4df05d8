package kubetest

import "time"

// Comes asks until done is true, and reports whether that came within a minute, which is more than a busy machine can explain. It
// asks less often the longer it takes: what is waited for needs the processors, too.
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
