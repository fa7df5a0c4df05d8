package kuadrant

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coredns/caddy"
	"github.com/coredns/coredns/core/dnsserver"
	"github.com/coredns/coredns/plugin/pkg/dnstest"
	"github.com/coredns/coredns/plugin/test"
	"github.com/miekg/dns"
)

// leading answers with a CNAME, as plugin file does, and with the client's address at its end if the name leads to our zones.
type leading struct {
	ours  bool
	asked atomic.Int64
}

func (*leading) Name() string { return "leading" }

func (l *leading) ServeDNS(ctx context.Context, w dns.ResponseWriter, r *dns.Msg) (int, error) {
	l.asked.Add(1)
	host, _, _ := net.SplitHostPort(w.RemoteAddr().String())
	if l.ours {
		takePart(ctx)
	} else {
		host = "192.0.2.1"
	}
	m := new(dns.Msg)
	m.SetReply(r)
	m.Answer = []dns.RR{
		test.CNAME("www.example.org. 30 IN CNAME geo.example.com."),
		test.A("geo.example.com. 30 IN A " + cmp.Or(host, "0.0.0.0")), // nobody's, in the background,
	}
	return dns.RcodeSuccess, w.WriteMsg(m)
}

// TestCaches (bug_3a10): the cache plugin keeps what we take no part in, and gives nobody what we answered another client, however it keeps
// and renews it; also if it has kept another answer before.
func TestCaches(t *testing.T) {
	for _, text := range []string{
		"cache", "cache 20", "cache {\nkeepttl\n}", "cache {\nprefetch 1 1m 90%\n}", "cache {\nserve_stale\n}", "cache {\nserve_stale 1h verify\n}",
		"cache {\nserve_stale 1h verify 1s\n}", "cache {\nserve_stale 1h verify 1s\nserve_stale_policy prefer_positive\n}",
	} {
		synctest.Test(t, func(t *testing.T) {
			c := caddy.NewTestController("dns", text)
			c.ServerBlockKeys = []string{"."}
			setup, err := caddy.DirectiveAction("dns", cacheName)
			if err != nil {
				t.Fatal(err)
			}
			if err := setup(c); err != nil {
				t.Fatal(err)
			}
			end := new(leading)
			h := guardCaches(dnsserver.GetConfig(c).Plugin[0])(end)
			if h.Name() != cacheName {
				t.Errorf("it is called %s", h.Name())
			}
			ask := func(client string) string {
				t.Helper()
				rec := dnstest.NewRecorder(&test.ResponseWriter{RemoteIP: client})
				if _, err := h.ServeDNS(context.Background(), rec, question("www.example.org.", dns.TypeA)); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				if len(rec.Msg.Answer) != 2 || len(rec.Msg.Extra) > 0 {
					t.Fatalf("%s: seen %v", text, rec.Msg)
				}
				return rec.Msg.Answer[1].(*dns.A).A.String()
			}
			for range 3 {
				if got := ask("10.0.0.1"); got != "192.0.2.1" || end.asked.Load() != 1 {
					t.Fatalf("%s: seen %s, asked %d times: it is not kept", text, got, end.asked.Load())
				}
			}
			end.ours = true
			time.Sleep(time.Minute)
			for i := range 400 {
				client := fmt.Sprintf("10.0.0.%d", 1+i%3)
				if got := ask(client); got != client && (i > 0 || got != "192.0.2.1") {
					t.Fatalf("%s: after %d s, %s got %s", text, i, client, got)
				}
				time.Sleep(time.Second)
			}
		})
	}
}
