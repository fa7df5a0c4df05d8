package geo

import (
	"context"

	"github.com/coredns-kuadrant/kuadrant/internal/watchfile"
)

// Watch keeps d up to date with its files until ctx is done (rule 3.4). Changes
// since Open are seen too. A version that cannot be understood leaves the one
// before in use. Only one Watch of a DB runs at a time. Where the system cannot
// watch files, they are looked at again and again.
func (d *DB) Watch(ctx context.Context) {
	w := watchfile.Watcher{What: "geo files", Paths: d.paths, Refresh: d.refresh, Warnf: d.log.Warningf}
	w.Watch(ctx)
}

func (d *DB) paths() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	var all []string
	for _, f := range d.files {
		all = append(all, f.Path)
	}
	return all
}
