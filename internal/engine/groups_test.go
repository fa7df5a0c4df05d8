package engine

import (
	"context"
	"net"
	"reflect"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// TestGroupTexts: the TXT records behind CNAMEs are asked of the resolvers in turn, and what has changed is reported.
func TestGroupTexts(t *testing.T) {
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var text atomic.Pointer[string]
	server := &dns.Server{PacketConn: conn, Handler: dns.HandlerFunc(func(w dns.ResponseWriter, q *dns.Msg) {
		r := new(dns.Msg).SetReply(q)
		if s := text.Load(); s != nil && q.Question[0].Name == "groups.example." {
			r.Answer = []dns.RR{&dns.TXT{Hdr: dns.RR_Header{Name: "groups.example.", Rrtype: dns.TypeTXT, Class: dns.ClassINET}, Txt: []string{"version=1;", *s}}}
		} else {
			r.Rcode = dns.RcodeNameError
		}
		_ = w.WriteMsg(r)
	})}
	go func() { _ = server.ActivateAndServe() }()
	t.Cleanup(func() { _ = server.Shutdown() })
	closed, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := closed.LocalAddr().String()
	_ = closed.Close()
	changed := make(chan struct{}, 1)
	g := newGroupTexts([]string{nobody, conn.LocalAddr().String()}, func() { changed <- struct{}{} })
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { g.run(ctx); close(ended) }()
	t.Cleanup(func() { cancel(); <-ended })
	blue := "groups=blue"
	for _, step := range []struct {
		text   *string
		wanted []string
		known  map[string]api.GroupText
	}{
		{nil, []string{"groups.example."}, map[string]api.GroupText{"groups.example.": {Err: "it has no TXT record"}}},
		{&blue, []string{"groups.example.", "other.example."}, map[string]api.GroupText{
			"groups.example.": {Texts: []string{"version=1;groups=blue"}}, "other.example.": {Err: "it has no TXT record"},
		}},
		{&blue, nil, map[string]api.GroupText{}},
	} {
		text.Store(step.text)
		g.want(step.wanted)
		for !reflect.DeepEqual(g.texts(), step.known) {
			select {
			case <-changed:
			case <-time.After(time.Minute):
				t.Fatalf("known %v, want %v", g.texts(), step.known)
			}
		}
		if !g.settled() {
			t.Errorf("not settled with %v", step.wanted)
		}
	}
	idle := newGroupTexts(nil, nil)
	if idle.want([]string{"groups.example."}); idle.settled() {
		t.Error("settled before an answer")
	}
}

// TestGroupAfterReload: a reload that changes nothing but a cluster's group counts (rule 9.5).
func TestGroupAfterReload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeSource{name: "c", place: "api"}
		r := begin(t, "", nil, f)
		f.show(hosts{"a": "192.0.2.1"})
		for _, group := range []string{"blue", "green", ""} {
			r = beginWith(t, "", r, func(_ *Engine, s *settings) { s.feeds[0].group = group }, f)
			if got := r.e.Snapshot().Objects().Clusters[0].Group; got != group {
				t.Errorf("the cluster has the group %q, want %q", got, group)
			}
		}
	})
}

// TestGroupsAfterRestart: a server that starts from the state on disk withdraws what the one before it did, though the record cannot be
// read now (rule 9.5).
func TestGroupsAfterRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		name := func(f *fakeSource, text string) {
			c := f.cluster(hosts{"a": "192.0.2.1"})
			for k := range c.Listings {
				c.Listings[k] = api.Listed
			}
			records := c.Records.Edit()
			records.Set("dns/groups", &api.Record{
				Meta: api.Meta{Name: "dns/groups", Cluster: f.name}, DomainName: "kuadrant-active-groups.example.com.",
				Type: "TXT", Class: "IN", TTL: api.NoTTL, RData: text,
			})
			c.Records = records.Map()
			f.send(c)
		}
		start := func() (r *running, c, d *fakeSource) {
			c, d = &fakeSource{name: "c", place: "c"}, &fakeSource{name: "d", place: "d"}
			return beginWith(t, dir, nil, func(_ *Engine, s *settings) {
				s.feeds[0].group, s.feeds[1].group = "blue", "green"
				s.opt.ZoneNamespaces = []string{"dns"}
			}, c, d), c, d
		}
		r, c, d := start()
		d.show(hosts{"a": "192.0.2.2"})
		name(c, `"version=1;groups=green"`)
		name(c, `"mistaken"`)
		if got := r.answer("a"); got != "192.0.2.2" {
			t.Errorf("before: %s", got)
		}
		r.e.Stop()
		if r, _, _ = start(); r.answer("a") != "192.0.2.2" {
			t.Errorf("after: %s", r.answer("a"))
		}
	})
}
