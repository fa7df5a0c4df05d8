// Package watchfile follows files that are replaced while in use: renamed into place, swapped
// through a symbolic link, as Kubernetes does with ConfigMaps, or overwritten.
package watchfile

import (
	"context"
	"time"
)

// Every is the pause between two looks at a file. A look is one system call. It follows any links,
// and works on network file systems, which report no events.
const Every = 500 * time.Millisecond

// Watch calls refresh at once, to catch changes since the files were opened, and then at every
// interval until ctx ends. All calls come from the caller's goroutine.
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
