package records_test

import (
	"testing"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/recordstest"
)

// What is answered while owners cannot be read is in testdata/owner_unread.txtar; here is what snapshots say of it to those who write
// and transfer.

// TestUnreadIsNotGone: a line whose object cannot be read, or could be there still, is not gone; a zone with such a name is neither
// transferred nor kept with a serial, before a reload or after it (rules 5.4, 6.7 and 7.4).
func TestUnreadIsNotGone(t *testing.T) {
	const key = "app.example.com."
	for _, c := range []struct {
		what, state           string
		gone, known, listable bool
		unread                int
	}{
		{"all is read", "cluster d", true, true, true, 0},
		{"its kind is not listed", "cluster d DNSPolicy=notlisted", false, true, false, 1},
		{"nor counted", "cluster d DNSPolicy=notcounted", false, true, false, 1},
		{"its kind has only just not been found", "cluster d DNSPolicy=missing", false, true, false, 1},
		{"its Gateway is not listed", "cluster d Gateway=notlisted", false, true, false, 1},
		{"it is listed in its namespace", "cluster d DNSPolicy=notlisted:b", true, true, false, 0},
		{"Zones of its cluster are not listed", "cluster d Zone=notcounted", false, true, true, 0},
		{"Zones of another cluster are not listed", "cluster d\ncluster c1 Zone=notlisted", false, true, false, 0},
		{"Zones of another cluster do not count", "cluster d\ncluster c1 Zone=notcounted", true, true, true, 0},
		{"another kind of its namespace is not listed", "cluster d DNSRecord=notlisted", false, true, false, 0},
		{"its cluster is awaited", "awaited d", false, true, false, 1},
		{"nobody knows its cluster", "cluster e", false, false, true, 0},
	} {
		w := recordstest.New(t, recordstest.Zones("example.com."), "gateway a/p host=app.example.com addr=192.0.2.66\npolicy a/p",
			"owner "+key+" d DNSPolicy b/p", c.state)
		s := w.Step(t)
		gone, known := s.Gone(key, api.Owner{Cluster: "d", Kind: api.KindDNSPolicy, Name: "b/p"})
		if z := s.Zone(key); gone != c.gone || known != c.known || s.Lists(z) != c.listable || s.UnreadOwners() != c.unread {
			t.Errorf("%s: gone %v, known %v, listable %v, %d unread", c.what, gone, known, s.Lists(z), s.UnreadOwners())
		}
		again := *w.Options // a reload
		again.Denied = s.Denied()
		if w.Options = &again; c.unread > 0 && w.Step(t).Lists(w.Snapshot.Zone(key)) {
			t.Errorf("%s: after a reload the zone is transferred and proposed", c.what)
		}
	}
}

// TestUnservedIsKnown: the serial of a zone below one of the Corefile goes only where it is known that no Zone has the name.
func TestUnservedIsKnown(t *testing.T) {
	for _, c := range []struct {
		what, text string
		want       bool
	}{
		{"nobody has the name", "", true},
		{"a Zone has it", "zone dns/z there.example.com. delegate=*", false},
		{"a Zone that is not served has it", "zone x/z there.example.com. delegate=*\nzone dns/z example.com.", false},
		{"a Zone has no name yet", "zone dns/z x in=missing", false},
		{"a Zone has no name at all", "zone dns/z a..b.", true},
		{"Zones could not be listed", "cluster d Zone=notcounted", false},
	} {
		w := recordstest.New(t, recordstest.Zones("example.com."), c.text)
		if got := w.Step(t).Unserved("there.example.com."); got != c.want {
			t.Errorf("%s: %v", c.what, got)
		}
	}
	w := recordstest.New(t, recordstest.Zones("example.com.", "in.example.com."))
	if s := w.Step(t); s.Unserved("in.example.com.") || s.Unserved("elsewhere.test.") {
		t.Error("what the Corefile itself names, and what lies outside all zones, is no zone of a Zone")
	}
}

// TestWaitingHosts: a zone that lacks a host which waits for its Secret is neither transferred nor proposed with a serial; its DNSRecord
// neither goes nor says that it is published, while that of an owner which cannot be read does not either (rules 5.4, 6.7 and 7.4).
func TestWaitingHosts(t *testing.T) {
	w := recordstest.New(t, recordstest.Zones("example.com."), "serial-writer c1", "cluster c1 Secret=notlisted",
		"gateway n/gw host=app.example.com addr=192.0.2.1\npolicy n/p gateway=gw provider=s uid=u",
		"dnsrecord n/gw-l0 managed owner=DNSPolicy/p/u root=app.example.com zone=example.com provider=s")
	policy := api.Ref{Kind: api.KindDNSPolicy, Name: "n/p"}
	advance(w)
	s := w.Snapshot
	z := s.Zone("app.example.com.")
	if _, ok := z.Proposed(); ok || s.Lists(z) || !s.Waits("c1", policy) {
		t.Errorf("waits %v; the zone is transferred %v, and proposed %v", s.Waits("c1", policy), s.Lists(z), ok)
	}
	w.Apply(t, "cluster c1 Secret=listed", "secret n/s type=kuadrant.io/coredns ZONES=example.com")
	advance(w)
	if s = w.Snapshot; s.Waits("c1", policy) || len(s.Children("c1", policy)) != 1 {
		t.Errorf("all is listed: it waits %v, and its children are %+v", s.Waits("c1", policy), s.Children("c1", policy))
	}
	ready := func() bool {
		v, _ := w.Snapshot.RecordStatus("c1", "n/gw-l0")
		return v.Conditions[0].Status == api.ConditionTrue
	}
	if !ready() {
		t.Error("the DNSRecord is not ready")
	}
	w.Apply(t, "owner app.example.com. d DNSPolicy b/p", "cluster d DNSPolicy=notlisted", "cluster c1")
	if advance(w); ready() {
		t.Error("the host is SERVFAIL, and its DNSRecord says that it is published")
	}
}
