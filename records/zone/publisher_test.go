package zone

import (
	"fmt"
	"testing"
	"time"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
	"github.com/miekg/dns"
)

// versions returns n versions of a zone, each with another content, and a function that makes the next version of one, with one of these
// contents.
func versions(t *testing.T, n int) (all []*Zone, next func(before *Zone, to int, p Past) *Zone) {
	t.Helper()
	options := &endpoint.ZoneOptions{Origin: "example.com.", TTL: 60}
	now := time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)
	id := uint32(0)
	next = func(before *Zone, to int, p Past) *Zone {
		id++
		base := before
		if base == nil {
			base = NewZone(endpoint.Zone{Origin: options.Origin, Corefile: options}, nil)
		}
		e := base.Edit(id)
		rr, err := dns.NewRR(fmt.Sprintf("a.example.com. 60 IN TXT %d", to))
		if err != nil {
			t.Fatal(err)
		}
		e.Tell("a.example.com.", []RRset{{Type: dns.TypeTXT, RRs: []dns.RR{rr}}})
		e.Settle()
		p.Written, p.Listed = true, true
		return e.Finish(before, p, now)
	}
	for i := range n {
		all = append(all, next(nil, i, Past{}))
	}
	return all, next
}

// TestPublisherStates goes through the table of afterKept: what was kept, and which version is published then.
func TestPublisherStates(t *testing.T) {
	all, next := versions(t, 4)
	kept := func(serial uint32, of int) Past { return Past{Kept: api.Kept{Hash: all[of].Hash(), Serial: serial}} }
	is := func(what string, z *Zone, want state, published int) {
		t.Helper()
		p := z.PublishedVersion()
		if z.publisher.state != want || (p == nil) != (published < 0) || p != nil && p.Hash() != all[published].Hash() {
			t.Errorf("%s: state %d, published %v", what, z.publisher.state, p != nil)
		}
	}
	a := next(nil, 0, Past{})
	is("nothing kept", a, unpublished, -1)
	is("a content unknown here", next(a, 0, kept(10, 3)), unpublished, -1)
	first := next(a, 0, kept(10, 0))
	is("the newest", first, current, 0)
	b := next(first, 1, kept(10, 0))
	is("a new content", b, behind, 0)
	is("that one", next(b, 1, kept(11, 1)), current, 1)
	is("the first again", next(b, 0, kept(10, 0)), current, 0)
	is("the first, under another serial", next(b, 1, kept(11, 0)), behind, 0)
	is("a lower serial", next(b, 1, kept(9, 1)), behind, 0)
	is("a content unknown here, later", next(b, 1, kept(12, 3)), behind, 0)
	c := next(b, 2, kept(10, 0))
	is("of two new ones, the one between", next(c, 2, kept(11, 1)), behind, 1)
	is("a new content before anything was kept", next(a, 1, Past{}), unpublished, -1)
	is("the one before it", next(next(a, 1, Past{}), 1, kept(10, 0)), behind, 0)
}

// TestProposal: what the writer should keep is higher than all that anybody kept, and stays until something is kept or changes.
func TestProposal(t *testing.T) {
	_, next := versions(t, 2)
	a := next(nil, 0, Past{})
	p, ok := a.Proposed()
	if !ok || p.Kept.Hash != a.Hash() || p.After != (api.Kept{}) {
		t.Errorf("at first: %+v", p)
	}
	if again, _ := next(a, 0, Past{}).Proposed(); again.Kept != p.Kept {
		t.Errorf("without news: %+v, before %+v", again, p)
	}
	published := next(a, 0, Past{Kept: p.Kept})
	if now, _ := published.Proposed(); now.Kept != p.Kept || now.After != p.Kept {
		t.Errorf("once kept: %+v", now)
	}
	if now, _ := next(published, 1, Past{Kept: p.Kept}).Proposed(); !newer(now.Kept.Serial, p.Kept.Serial) {
		t.Errorf("after a change: %+v", now)
	}
}
