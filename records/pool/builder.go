package pool

import (
	"fmt"
	"iter"
	"slices"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/health"
	"github.com/coredns-kuadrant/kuadrant/internal/tree"
	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
)

// Builder makes the names of one contender group at a time. The caller sets the functions, and Names.
type Builder struct {
	// Zone returns the options of the zone that a name lies in, nil for none.
	Zone func(name string) *endpoint.ZoneOptions
	// Static reports whether the zone has data of its own at the name.
	Static func(name string) bool
	// Names is Build's result.
	Names map[string]Steered
	// Notes are on served contenders; nil for none.
	Notes map[*endpoint.Contender][]api.Condition
	// Dropped counts a contender's endpoints that give way to others'; nil for none.
	Dropped map[*endpoint.Contender]int
	// Watch has a target checked for the names being made, and returns its cell: see
	// CheckEdit.Watch.
	Watch func(t *health.Target, was func() *health.Target) *health.Cell
	// Before returns a cluster's objects in the snapshot before; nil for none.
	Before func(cluster string) *api.Cluster
	// ProbesOff is true if nothing is checked here: the probes' status counts (rule 4.1).
	ProbesOff bool
	// Unlocated is true if no locator is configured.
	Unlocated bool
	// Probes returns the probes of a cluster.
	Probes func(cluster string) ProbeIndex
	// Overrides are the operator's.
	Overrides *api.Overrides
	// Active returns the groups of clusters that are active where a host lies, Group that of a cluster (rule 9.5).
	Active func(host string) *api.ActiveGroups
	Group  func(cluster string) string
	// Complete is true if every source has been listed.
	Complete bool
	// Secret returns a cluster's Secret by namespace/name, nil if unknown.
	Secret func(cluster, name string) *api.Secret
	// NoSecrets reports whether the Corefile turns off Secrets for a cluster.
	NoSecrets func(cluster string) bool
	groups    map[string]Group // by their codes
	// The rest is memory that is used again.
	tree      hostTree
	room      endpoint.Room
	first     places[distinction]
	sets      places[string]
	hostnames places[string]
	places    places[place]
	members   places[member]
	options   []option
	hops      []dns.RR
	// expected are the status codes of the last check, as text.
	expected struct {
		of   *api.HealthCheck
		text string
	}
}

// note adds a note to a served contender, once.
func (b *Builder) note(c *endpoint.Contender, reason, format string, args ...any) {
	b.tell(c, endpoint.Refusal(reason, fmt.Sprintf(format, args...)))
}

// tell adds a condition to the notes on a served contender, once.
func (b *Builder) tell(c *endpoint.Contender, note api.Condition) {
	if b.Notes == nil {
		b.Notes = make(map[*endpoint.Contender][]api.Condition)
	}
	if !slices.Contains(b.Notes[c], note) {
		b.Notes[c] = append(b.Notes[c], note)
	}
}

// drop counts an endpoint that is not served, and tells its contenders why.
func (b *Builder) drop(f *owned, reason, format string, args ...any) {
	if b.Dropped == nil {
		b.Dropped = make(map[*endpoint.Contender]int)
	}
	for c := range f.contenders() {
		b.Dropped[c]++
		b.note(c, reason, format, args...)
	}
}

// distinction is the key that lets endpoints stand beside each other at one name.
type distinction struct {
	setID, code, target string
	rtype               uint16
}

// owned is an endpoint with the contender that owns it, and those that publish the same: younger
// objects, or the same one in other clusters (rule 5.6).
type owned struct {
	*endpoint.Endpoint
	contender *endpoint.Contender
	also      []*endpoint.Contender
	// other is true for the default of a younger object, which is among all others (rule 5.6).
	other bool
}

// places numbers values in the order of their first use.
type places[V comparable] struct {
	list  []V
	index map[V]int32 // nil while they are few
}

// hostTree is the names that contenders have on H' and *.H' and in their chain, each with its endpoints. It is memory that is used again.
type hostTree struct {
	host     string         // H'
	index    places[string] // the names, in the order of the endpoints
	branches []branch       // by number
	room     endpoint.Room
}

// branch is one name of a tree.
type branch struct {
	name string
	rows []owned // the endpoints that count, each once
	role role    // in a chain
	end  end     // of a member of a chain
}

// role is what a name is in a chain.
type role uint8

// chain is a tree of the shape of rule 2.3, whatever its labels: hosts → top → geo groups → members.
type chain struct {
	hosts  []*branch
	top    *branch
	groups []geoGroup
	deflt  int32 // the group for clients that match no code; None for none
}

// place is what the groups of one name are told apart by.
type place struct {
	code  string
	other bool // see owned
}

// member identifies a member of a pool.
type member struct {
	id    string
	group int32
}

// option is one of the things that a name, or a geo group, chooses from.
type option struct {
	end
	row   *owned // the endpoint; the first one of several with addresses
	alias bool   // it is a CNAME
	limit uint32 // its highest TTL: the lowest of the CNAMEs in whose place it is answered (rule 2.4); math.MaxUint32 for none
	// group is the geo group in a pool, and cnames are those from the head of the pool to the end.
	group  int32
	cnames []dns.RR
}

// end is what an endpoint leads to: addresses, or a hostname.
type end struct {
	contender *endpoint.Contender
	name      string // of the addresses, or the hostname
	leaf      *leaf  // nil for a hostname
	// gateway and cells are Gateway and Cells of a member.
	gateway *health.Cell
	cells   []Cells
}

// host is what holds for all names of the contenders on H' and *.H'.
type host struct {
	name       string // H'
	zone       *endpoint.ZoneOptions
	attributes api.Attributes // the owner's
	apart      bool           // see View
	checked    bool           // one of the contenders has a check: failover must not wait for CNAMEs (rule 2.3)
	whole      bool           // no contender is away, or not read yet
}

// ProbeIndex has a cluster's usable probes, by ProbeKey: one address may have thousands, and a contender looks only at its own.
type ProbeIndex = tree.Map[*api.HealthCheckProbe]

// geoGroup is a name whose members are drawn by weight.
type geoGroup struct {
	*branch
	code string // "" for all other clients
	head *owned // the endpoint of the top that leads there
}

// contenders yields the contenders of the endpoint, the owner first.
func (f *owned) contenders() iter.Seq[*endpoint.Contender] {
	return func(yield func(*endpoint.Contender) bool) {
		if yield(f.contender) {
			slices.Values(f.also)(yield)
		}
	}
}
