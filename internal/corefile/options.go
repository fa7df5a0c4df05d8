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

// MaxGuard is the longest duration that the property guard accepts.
const MaxGuard = 24 * time.Hour

// Block is what one directive says about its own server block.
type Block struct {
	// Zones are those that the block answers for, in lower case with a final dot. ZonesWritten is false if they come from
	// the server block's key.
	Zones        []string
	ZonesWritten bool
	ZoneSet      map[string]bool // of Zones
	Fall         fall.F
	Place        engine.Place
	Warnings     []string // what is most likely a mistake, each with its place
	// Keys are the zones of the server block, in the same form.
	Keys []string
}

// Outside returns a warning for each zone that has nothing in common with those of the server block: CoreDNS hands no query for
// it to this one, unless something rewrites names.
func (b *Block) Outside() (warnings []string) {
	for _, zone := range b.Zones {
		if len(b.Keys) > 0 && !slices.ContainsFunc(b.Keys, func(key string) bool { return related(key, zone) }) {
			warnings = append(warnings, fmt.Sprintf("%s: zone %q is outside this server block, which is for %s; it gets no queries here. Add a server block for it",
				b.Place, zone, strings.Join(b.Keys, " ")))
		}
	}
	return warnings
}

// addZone takes the options of one zone; at is the directive that they stand in. A zone may stand in several blocks, with equal
// options.
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
