package geo

import (
	"context"

	"github.com/coredns-kuadrant/kuadrant/internal/watchfile"
)

// Watch keeps d up to date with its files until ctx is done (rule 3.4). Changes
// since Open are seen too. A version that cannot be understood leaves the one
// before in use. Only one Watch of a DB runs at a time.
func (d *DB) Watch(ctx context.Context) {
	watchfile.Watch(ctx, d.refresh)
}
