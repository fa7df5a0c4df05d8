// Package watchfile follows files that are replaced while they are in use: a new
// version that is renamed into place, swapped through a symbolic link, as
// Kubernetes does with ConfigMaps, or copied over the old one.
package watchfile

import (
	"context"
	"time"
)

// Every is the pause between two looks at a file. A look is one system call, follows links whatever they lead to, and
// works on network file systems, which report no events.
const Every = 500 * time.Millisecond

// Watch calls refresh at once, so that changes since the files were opened are seen too, and again and again until ctx is
// done, from the goroutine that called Watch.
func Watch(ctx context.Context, refresh func()) {
	tick := time.NewTicker(Every)
	defer tick.Stop()
	for {
		refresh()
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
