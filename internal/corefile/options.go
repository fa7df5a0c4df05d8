// Package corefile reads the kuadrant directives of a Corefile into the engine's Options. Its errors name file, line and token
// (rule 8.3).
package corefile

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/coredns/coredns/plugin/pkg/fall"

	"github.com/coredns-kuadrant/kuadrant/internal/engine"
	"github.com/coredns-kuadrant/kuadrant/records"
)

// MaxGuard is the maximum of the property guard.
const MaxGuard = 24 * time.Hour

// Block holds the settings of one directive that apply to its own server block.
type Block struct {
	// Zones are the zones to answer for, in lower case with a final dot. ZonesWritten is false if they come from the
	// server block's key.
	Zones        []string
	ZonesWritten bool
	ZoneSet      map[string]bool // the set of Zones
	Fall         fall.F
	Place        engine.Place
	Warnings     []string // probable mistakes, each with its place
	// Keys are the zones of the server block, in the form of Zones.
	Keys []string
}

// Outside returns a warning for each zone unrelated to those of the server block: CoreDNS passes no queries for it to
// this block, unless a plugin rewrites names.
func (b *Block) Outside() (warnings []string) {
	for _, zone := range b.Zones {
		if len(b.Keys) > 0 && !slices.ContainsFunc(b.Keys, func(key string) bool { return related(key, zone) }) {
			warnings = append(warnings, fmt.Sprintf("%s: zone %q is outside this server block, which is for %s; it gets no queries here. Add a server block for it",
				b.Place, zone, strings.Join(b.Keys, " ")))
		}
	}
	return warnings
}

// addZone adds the options of one zone; at is the place of the directive. A zone may appear in several blocks, with
// equal options.
func addZone(o *engine.Options, z records.ZoneOptions, at engine.Place) error {
	key := "zone " + z.Origin
	i := slices.IndexFunc(o.Zones, func(other records.ZoneOptions) bool { return other.Origin == z.Origin })
	if i < 0 {
		o.Zones = append(o.Zones, z)
		o.Note(key, at)
		return nil
	}
	if !reflect.DeepEqual(o.Zones[i], z) {
		return at.Errorf("zone %q has other settings at %s; answer, ttl, nameserver and rname must be equal in all blocks of a zone", z.Origin, o.At(key))
	}
	return nil
}
