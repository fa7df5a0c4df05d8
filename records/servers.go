package records

import (
	"strconv"
	"strings"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
	"github.com/coredns-kuadrant/kuadrant/records/zone"
)

// NS Records are kept by the name of their server, so that their verdicts can follow what
// becomes of the server's addresses, wherever these lie.

// fieldMark stands between the parts of a key of reporter.servers, of which the first is the
// server's name from the root: no name has it.
const fieldMark = "\x01"

// noteServer counts an NS Record by its server: n is 1 where it comes, -1 where it goes.
func (rep *reporter) noteServer(r *endpoint.Record, n int) {
	ns, ok := r.RR.(*dns.NS)
	if !ok {
		return
	}
	at := strings.Join([]string{rdata.FromRoot(ns.Ns), r.Record.Cluster, strconv.Itoa(int(r.ObjectKind())), r.Record.Name}, fieldMark)
	before, _ := rep.servers.Get(at)
	if before+n == 0 {
		rep.servers.Delete(at)
		return
	}
	rep.servers.Set(at, before+n)
}

// lookByServer has the objects looked at that name a server at or below a name.
func (rep *reporter) lookByServer(name string) {
	for at := range rep.next.servers.Beginning(rdata.FromRoot(name)) {
		fields := strings.Split(at, fieldMark)
		kind, _ := strconv.Atoi(fields[2])
		rep.look(fields[1], api.Kind(kind), fields[3])
	}
}

// lookForServers has the objects whose servers may have addresses now and had none, or the
// other way, for what has changed in a zone.
func (rep *reporter) lookForServers(e *zone.Edit, z *zone.Zone) {
	for _, name := range e.Settled {
		was, now := zone.Existing(e.Zone, name), zone.Existing(z, name)
		switch {
		case was == nil && now == nil:
			continue
		case was != nil && now != nil && was.Addressed() == now.Addressed() && !was.Turn && !now.Turn:
			continue
		}
		top := name
		if wild, ok := strings.CutPrefix(name, rdata.Wildcard); ok {
			top = wild
		}
		for top != z.Origin() { // a name that comes or goes blocks a wildcard, or does not any more
			up, ok := rdata.Parent(top)
			if !ok || up == z.Origin() || (zone.Existing(e.Zone, up) == nil) == (zone.Existing(z, up) == nil) {
				break
			}
			top = up
		}
		rep.lookByServer(top)
	}
}
