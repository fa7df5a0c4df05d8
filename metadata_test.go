package kuadrant

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coredns/caddy"
	"github.com/coredns/coredns/core/dnsserver"
	_ "github.com/coredns/coredns/plugin/geoip"
	"github.com/coredns/coredns/plugin/metadata"
	"github.com/coredns/coredns/plugin/pkg/dnstest"
	"github.com/coredns/coredns/plugin/test"
	"github.com/coredns/coredns/request"
	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/internal/boottest"
	"github.com/coredns-kuadrant/kuadrant/internal/console"
	"github.com/coredns-kuadrant/kuadrant/internal/corefile"
	"github.com/coredns-kuadrant/kuadrant/internal/geotest"
	"github.com/coredns-kuadrant/kuadrant/internal/inspect"
)

// geoipPlugin returns CoreDNS's geoip plugin on a test database.
func geoipPlugin(t testing.TB, edns bool) metadata.Provider {
	t.Helper()
	text := "geoip " + geotest.Write(t, t.TempDir()).City
	if edns {
		text += " {\nedns-subnet\n}"
	}
	c := caddy.NewTestController("dns", text)
	setup, err := caddy.DirectiveAction("dns", "geoip")
	if err != nil {
		t.Fatal(err)
	}
	if err := setup(c); err != nil {
		t.Fatal(err)
	}
	return dnsserver.GetConfig(c).Plugin[0](nil).(metadata.Provider)
}

// TestGeoipAndSubnet: with CoreDNS's geoip plugin in place of a database of our
// own, the client is where the query's subnet is, and the scope the source
// length, whichever address that plugin looks up by itself (rules 3.1, 3.5 and
// 3.6). Where it cannot be asked, nobody knows where the subnet is.
func TestGeoipAndSubnet(t *testing.T) {
	const inIE, inUS = "192.0.2.7", "198.51.100.7"
	for _, c := range []struct {
		name, from     string
		query          *dns.Msg
		scope          int    // -1 for no option
		wired, unwired string // the answers where the plugin can be asked, and where not
		by             string
	}{
		{"no subnet", inIE, question("shop.example.com.", dns.TypeA), -1, "192.0.2.1", "192.0.2.1", "source"},
		{"no subnet, US", inUS, question("shop.example.com.", dns.TypeA), -1, "192.0.2.2", "192.0.2.2", "source"},
		{"subnet US", inIE, withSubnet(question("shop.example.com.", dns.TypeA), 1, "198.51.100.0", 25, 0), 25, "192.0.2.2", "192.0.2.1", "ecs"},
		{"subnet IE", inUS, withSubnet(question("shop.example.com.", dns.TypeA), 1, "192.0.2.0", 24, 0), 24, "192.0.2.1", "192.0.2.1", "ecs"},
		{"IPv6", inIE, withSubnet(question("shop.example.com.", dns.TypeA), 2, "2001:db8:200::", 56, 0), 56, "192.0.2.2", "192.0.2.1", "ecs"},
		{"mapped", inIE, withSubnet(question("shop.example.com.", dns.TypeA), 2, "::ffff:198.51.100.0", 120, 0), 120, "192.0.2.2", "192.0.2.1", "ecs"},
		{"source length 0", inUS, withSubnet(question("shop.example.com.", dns.TypeA), 1, "0.0.0.0", 0, 0), 0, "", "", "source"},
		{"simple", inUS, withSubnet(question("plain.example.com.", dns.TypeA), 1, "192.0.2.0", 24, 0), 0, "192.0.2.3", "192.0.2.3", "none"},
	} {
		for _, edns := range []bool{false, true} {
			for _, wired := range []bool{true, false} {
				t.Run(fmt.Sprintf("%s/edns-subnet=%v/asked=%v", c.name, edns, wired), func(t *testing.T) {
					k := newPlugin(t, "kuadrant example.com", "", oneHost(t))
					geoip := geoipPlugin(t, edns)
					want, by := c.unwired, c.by
					if wired {
						k.geoip, want = geoip, c.wired
					} else if by == "ecs" {
						by = "none"
					}
					w := &test.ResponseWriter{RemoteIP: c.from}
					ctx := geoip.Metadata(metadata.ContextWithMetadata(context.Background()), request.Request{Req: c.query, W: w})
					before, rec := gathered(t, locatedTotal), dnstest.NewRecorder(w)
					if _, err := k.ServeDNS(ctx, rec, c.query); err != nil {
						t.Fatal(err)
					}
					if got := firstA(rec.Msg); want != "" && got != want {
						t.Errorf("answered %s, want %s", got, want)
					}
					scope := -1
					if opt := rec.Msg.IsEdns0(); opt != nil {
						scope = int(opt.Option[0].(*dns.EDNS0_SUBNET).SourceScope)
					}
					if scope != c.scope {
						t.Errorf("scope %d, want %d", scope, c.scope)
					}
					for name, n := range gathered(t, locatedTotal) {
						if grown := n - before[name]; grown != 0 && name != "clients_located_total{"+by+"}" || grown == 0 && name == "clients_located_total{"+by+"}" {
							t.Errorf("%s grew by %v, want the client to be located by %s", name, grown, by)
						}
					}
				})
			}
		}
	}
}

// TestScopeOfMappedSubnet: the scope of an IPv4-mapped client subnet counts in
// the option's family, and never goes past its end.
func TestScopeOfMappedSubnet(t *testing.T) {
	for source, want := range map[uint8]int{96: 97, 97: 97, 120: 120, 128: 128} {
		m := withSubnet(question("shop.example.com.", dns.TypeA), 2, "::ffff:0.0.0.0", source, 0)
		k := newPlugin(t, "kuadrant example.com", "", oneHost(t))
		ctx := metadata.ContextWithMetadata(context.Background())
		metadata.SetValueFunc(ctx, geoipCountry, func() string { return "US" })
		reply, _ := ask(t, k, ctx, m)
		if got := int(reply.IsEdns0().Option[0].(*dns.EDNS0_SUBNET).SourceScope); got != want {
			t.Errorf("source length %d: scope %d, want %d", source, got, want)
		}
	}
	for _, s := range []dns.EDNS0_SUBNET{{Family: 1, SourceNetmask: 32}, {Family: 2, SourceNetmask: 128}} {
		if got := subnetReply(&s, 300).SourceScope; got != s.SourceNetmask {
			t.Errorf("family %d: scope %d, want %d at most", s.Family, got, s.SourceNetmask)
		}
	}
}

// TestGeoipInServerBlock: a server with CoreDNS's geoip plugin and without a
// database of our own tells clients apart by their subnets.
func TestGeoipInServerBlock(t *testing.T) {
	dir := t.TempDir()
	for name, address := range map[string]string{"IE": "192.0.2.1", "US": "192.0.2.2"} {
		text := fmt.Sprintf(boottest.Gateway, "shop.example.com", address)
		steering := fmt.Sprintf("name: %s}, loadBalancing: {weight: 1, geo: %s, defaultGeo: %v}}", strings.ToLower(name), name, name == "IE")
		text = strings.NewReplacer("name: gw}}", steering, "name: gw", "name: "+strings.ToLower(name), "name: p}", "name: "+strings.ToLower(name)+"}").Replace(text)
		writeFile(t, filepath.Join(dir, name+".yaml"), text)
	}
	port, at, city := freePort(t), fmt.Sprintf("127.0.0.1:%d", freePort(t)), geotest.Write(t, t.TempDir()).City
	text := fmt.Sprintf("example.com:%d {\nbind 127.0.0.1\nmetadata\ngeoip %s\nkuadrant {\nmanifests %s\nconsole %s\n}\n}\n", port, city, dir, at)
	inst, _ := boot(t, text)
	defer func() {
		_ = inst.Stop()
		inst.ShutdownCallbacks()
	}()
	addr := fmt.Sprintf("127.0.0.1:%d", port)
	from := func(subnet string) string {
		t.Helper()
		m, _, err := boottest.Client("").Exchange(withSubnet(question("shop.example.com.", dns.TypeA), 1, subnet, 24, 0), addr)
		if err != nil {
			t.Fatal(err)
		}
		return firstA(m)
	}
	waitFor(t, "default", func() bool { return firstA(exchange(t, addr, "shop.example.com.", dns.TypeA)) == "192.0.2.1" })
	for subnet, want := range map[string]string{"192.0.2.0": "192.0.2.1", "198.51.100.0": "192.0.2.2", "172.16.0.0": "192.0.2.1"} {
		if got := from(subnet); got != want {
			t.Errorf("from %s: %s, want %s", subnet, got, want)
		}
		// The console explains that very answer, and so does a tool that reads the Corefile.
		client, err := console.NewClient("http://"+at, "", time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		x, err := client.Explain(t.Context(), inspect.Question{Name: "shop.example.com", From: subnet})
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(strings.Join(x.Answer, "\n"), "\tA\t"+want) || !x.ByClient {
			t.Errorf("from %s, explained: %q, %v", subnet, x.Answer, x.Location)
		}
	}
	file := filepath.Join(t.TempDir(), "Corefile")
	writeFile(t, file, text)
	s, err := corefile.Read(file)
	if err != nil || !slices.Equal(s.GeoIP, []string{city}) {
		t.Errorf("of the Corefile, a tool reads %+v, %v", s, err)
	}
}

// FuzzClientSubnet sends queries with any client-subnet option, as it comes off
// the wire: nothing panics, and every reply can be packed, echoes family, source
// length and address, and has a scope that fits the family (rule 3.6).
func FuzzClientSubnet(f *testing.F) {
	f.Add(uint16(1), uint8(24), uint8(0), []byte{10, 2, 0})
	f.Add(uint16(2), uint8(56), uint8(0), []byte{0x20, 1, 0xd, 0xb8, 0, 2, 0})
	f.Add(uint16(2), uint8(120), uint8(0), []byte{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 2, 0})
	f.Add(uint16(2), uint8(96), uint8(0), []byte{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff})
	f.Add(uint16(0), uint8(0), uint8(0), []byte{})
	f.Add(uint16(1), uint8(33), uint8(1), []byte{10, 2, 0, 1, 9})
	own := newPlugin(f, "kuadrant example.com", shopNets, oneHost(f))
	// The same without a database of our own: CoreDNS's geoip plugin, which may be
	// asked again or not.
	lent, heard := newPlugin(f, "kuadrant example.com", "", oneHost(f)), newPlugin(f, "kuadrant example.com", "", oneHost(f))
	lent.geoip = geoipPlugin(f, false)
	found := metadata.ContextWithMetadata(context.Background())
	metadata.SetValueFunc(found, geoipCountry, func() string { return "US" })
	f.Fuzz(func(t *testing.T, family uint16, source, scope uint8, address []byte) {
		m := question("shop.example.com.", dns.TypeA)
		m.SetEdns0(1232, false)
		data := append([]byte{byte(family >> 8), byte(family), source, scope}, address...)
		m.IsEdns0().Option = append(m.IsEdns0().Option, &dns.EDNS0_LOCAL{Code: dns.EDNS0SUBNET, Data: data})
		wire, err := m.Pack()
		if err != nil {
			return
		}
		query := new(dns.Msg)
		if query.Unpack(wire) != nil {
			return // CoreDNS answers FORMERR by itself
		}
		for _, k := range []*Kuadrant{own, lent, heard} {
			reply, _ := ask(t, k, found, query)
			if reply.Rcode == dns.RcodeFormatError {
				return
			}
			if scope != 0 || len(address) != (int(source)+7)/8 {
				t.Fatalf("a scope of %d and %d octets in the query were taken", scope, len(address))
			}
			checkEcho(t, reply, family, source)
		}
	})
}

func checkEcho(t *testing.T, reply *dns.Msg, family uint16, source uint8) {
	t.Helper()
	wire, err := reply.Pack()
	if err != nil {
		t.Fatalf("reply %v: %v", reply, err)
	}
	again := new(dns.Msg)
	if err := again.Unpack(wire); err != nil {
		t.Fatalf("reply %v: %v", reply, err)
	}
	sub := again.IsEdns0().Option[0].(*dns.EDNS0_SUBNET)
	if sub.Family != family || sub.SourceNetmask != source {
		t.Fatalf("echoed family %d, length %d; want %d, %d", sub.Family, sub.SourceNetmask, family, source)
	}
	if longest := map[uint16]uint8{familyIPv4: 32, familyIPv6: 128}[family]; sub.SourceScope > longest {
		t.Fatalf("scope %d for family %d", sub.SourceScope, family)
	}
	if source == 0 && sub.SourceScope != 0 {
		t.Fatalf("scope %d for a client that asks not to be located", sub.SourceScope)
	}
}
