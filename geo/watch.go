package geo

import (
	"context"

	"github.com/coredns-kuadrant/kuadrant/internal/watchfile"
)

// Watch keeps d up to date with its files until ctx is done (rule 3.4), including changes since
// Open. If a new version cannot be understood, the old one stays in use. Only one Watch of a DB
// runs at a time.
func (d *DB) Watch(ctx context.Context) {
	watchfile.Watch(ctx, d.refresh)
}
