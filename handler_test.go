package kuadrant

import (
	"context"
	"maps"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/internal/boottest"
	"github.com/coredns-kuadrant/kuadrant/internal/corefile"
	"github.com/coredns-kuadrant/kuadrant/internal/engine"
	"github.com/coredns-kuadrant/kuadrant/records"
	"github.com/coredns/caddy"
	"github.com/coredns/coredns/plugin"
	"github.com/coredns/coredns/plugin/dnssec"
	"github.com/coredns/coredns/plugin/metadata"
	"github.com/coredns/coredns/plugin/pkg/cache"
	"github.com/coredns/coredns/plugin/pkg/dnstest"
	"github.com/coredns/coredns/plugin/test"
	"github.com/coredns/coredns/request"
	"github.com/miekg/dns"
)

// newPlugin returns a plugin for a Corefile that holds what is compiled from
// the manifests in text, with clients located by nets. Nothing runs.
func newPlugin(t testing.TB, text, nets string, clusters ...*api.Cluster) *Kuadrant {
	t.Helper()
	inst := newInstance(nil)
	b, err := corefile.Parse(caddy.NewTestController("dns", text), inst.config)
	if err != nil {
		t.Fatal(err)
	}
	inst.config.Manifests = []engine.Manifests{{Dir: t.TempDir(), Cluster: "c"}}
	if nets != "" {
		inst.config.Nets = filepath.Join(t.TempDir(), "nets")
		if err := os.WriteFile(inst.config.Nets, []byte(nets), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := inst.server.engine.Load(inst.config); err != nil {
		t.Fatal(err)
	}
	if len(clusters) > 0 {
		inst.server.engine.Publish(records.Compile(nil, api.Objects{Clusters: clusters}, inst.server.engine.Options(), inst.server.engine.Now()))
	}
	return &Kuadrant{block: b, engine: inst.server.engine, blocks: inst.blocks, Next: plugin.HandlerFunc(
		func(context.Context, dns.ResponseWriter, *dns.Msg) (int, error) { return rcodeNext, nil })}
}

// oneHost returns a cluster in which every kind is listed and two Gateways,
// for Ireland and the US, share shop.example.com; plain.example.com is simple.
func oneHost(t testing.TB) *api.Cluster {
	t.Helper()
	c := &api.Cluster{Name: "c", UID: "c"}
	for k := range c.Listings {
		c.Listings[k] = api.Listed
	}
	gateways, policies := c.Gateways.Edit(), c.Policies.Edit()
	add := func(name, host, address, geo string) {
		gateways.Set("ns/"+name, &api.Gateway{
			Meta:      api.Meta{Name: "ns/" + name, Cluster: "c"},
			Listeners: []api.Listener{{Name: "l", Hostname: host, AttachedRoutes: 1}},
			Addresses: []api.Address{{Type: api.IPAddress, Value: address}},
		})
		p := &api.DNSPolicy{Meta: api.Meta{Name: "ns/" + name, Cluster: "c"}, Target: api.Target{Name: name}}
		if geo != "" {
			p.Strategy, p.DefaultWeight, p.Geo, p.DefaultGeo = api.WeightedGeo, 100, geo, ""
			if geo == "IE" {
				p.DefaultGeo = "IE"
			}
		}
		policies.Set("ns/"+name, p)
	}
	add("ie", "shop.example.com", "192.0.2.1", "IE")
	add("us", "shop.example.com", "192.0.2.2", "US")
	add("plain", "plain.example.com", "192.0.2.3", "")
	c.Gateways, c.Policies = gateways.Map(), policies.Map()
	return c
}

func ask(t testing.TB, k *Kuadrant, ctx context.Context, m *dns.Msg) (*dns.Msg, int) {
	t.Helper()
	rec := dnstest.NewRecorder(&test.ResponseWriter{RemoteIP: "10.1.0.1"})
	rcode, err := k.ServeDNS(ctx, rec, m)
	if err != nil {
		t.Fatal(err)
	}
	return rec.Msg, rcode
}

// askWithMetadata asks as a server with the metadata plugin does, and returns
// the values below kuadrant/ too.
func askWithMetadata(t testing.TB, k *Kuadrant, m *dns.Msg) (map[string]string, *dns.Msg) {
	t.Helper()
	ctx := metadata.ContextWithMetadata(context.Background())
	ctx = k.Metadata(ctx, request.Request{Req: m, W: &test.ResponseWriter{RemoteIP: "10.1.0.1"}})
	reply, _ := ask(t, k, ctx, m)
	values := make(map[string]string)
	for name := range metadataValues {
		values[name] = metadata.ValueFunc(ctx, pluginName+"/"+name)()
	}
	return values, reply
}

const shopNets = "10.1.0.0/16 IE\n10.2.0.0/16 US\n10.2.128.0/20 IE\n2001:db8:2::/48 US\n"

func TestClientSubnet(t *testing.T) {
	k := newPlugin(t, "kuadrant example.com", shopNets, oneHost(t))
	for _, c := range []struct {
		name          string
		query         *dns.Msg
		rcode         int
		scope         int // -1 where no option is expected
		last          string
		sourceAddress string
	}{
		{"none", question("shop.example.com.", dns.TypeA), dns.RcodeSuccess, -1, "192.0.2.1", ""},
		{"us", withSubnet(question("shop.example.com.", dns.TypeA), 1, "10.2.0.0", 24, 0), dns.RcodeSuccess, 17, "192.0.2.2", "10.2.0.0"},
		{"more specific", withSubnet(question("shop.example.com.", dns.TypeA), 1, "10.2.130.7", 32, 0), dns.RcodeSuccess, 20, "192.0.2.1", "10.2.130.7"},
		{"just outside it", withSubnet(question("shop.example.com.", dns.TypeA), 1, "10.2.144.0", 24, 0), dns.RcodeSuccess, 20, "192.0.2.2", "10.2.144.0"},
		{"nowhere", withSubnet(question("shop.example.com.", dns.TypeA), 1, "172.16.0.0", 16, 0), dns.RcodeSuccess, 1, "192.0.2.1", "172.16.0.0"},
		{"ipv6", withSubnet(question("shop.example.com.", dns.TypeA), 2, "2001:db8:2:1::", 64, 0), dns.RcodeSuccess, 48, "192.0.2.2", "2001:db8:2:1::"},
		{"mapped", withSubnet(question("shop.example.com.", dns.TypeA), 2, "::ffff:10.2.0.0", 120, 0), dns.RcodeSuccess, 96 + 17, "192.0.2.2", "10.2.0.0"},
		{"source length 0", withSubnet(question("shop.example.com.", dns.TypeA), 1, "0.0.0.0", 0, 0), dns.RcodeSuccess, 0, "192.0.2.1", "0.0.0.0"},
		{"family 0", withSubnet(question("shop.example.com.", dns.TypeA), 0, "0.0.0.0", 0, 0), dns.RcodeSuccess, 0, "192.0.2.1", "0.0.0.0"},
		{"simple", withSubnet(question("plain.example.com.", dns.TypeA), 1, "10.2.0.0", 24, 0), dns.RcodeSuccess, 0, "192.0.2.3", "10.2.0.0"},
		{"negative behind CNAMEs", withSubnet(question("shop.example.com.", dns.TypeAAAA), 1, "10.2.0.0", 24, 0), dns.RcodeSuccess, 17, "7f9fqn-xcz2dt.klb.shop.example.com.", "10.2.0.0"},
		{"missing", withSubnet(question("no.example.com.", dns.TypeA), 1, "10.2.0.0", 24, 0), dns.RcodeNameError, 0, "", "10.2.0.0"},
		{"first CNAME", withSubnet(question("shop.example.com.", dns.TypeCNAME), 1, "10.2.0.0", 24, 0), dns.RcodeSuccess, 0, "klb.shop.example.com.", "10.2.0.0"},
		{"scope set", withSubnet(question("shop.example.com.", dns.TypeA), 1, "10.2.0.0", 24, 24), dns.RcodeFormatError, -1, "", ""},
		{"bits past the length", withSubnet(question("shop.example.com.", dns.TypeA), 1, "10.2.0.1", 24, 0), dns.RcodeFormatError, -1, "", ""},
		{"bits with length 0", withSubnet(question("shop.example.com.", dns.TypeA), 1, "10.0.0.0", 0, 0), dns.RcodeFormatError, -1, "", ""},
		{"source too long", withSubnet(question("shop.example.com.", dns.TypeA), 1, "10.2.0.1", 33, 0), dns.RcodeFormatError, -1, "", ""},
		{"unknown family", withSubnet(question("shop.example.com.", dns.TypeA), 3, "10.2.0.0", 24, 0), dns.RcodeFormatError, -1, "", ""},
		{"unknown family, length 0", withSubnet(question("shop.example.com.", dns.TypeA), 3, "0.0.0.0", 0, 0), dns.RcodeFormatError, -1, "", ""},
		{"family 0 with length", withSubnet(question("shop.example.com.", dns.TypeA), 0, "10.2.0.0", 24, 0), dns.RcodeFormatError, -1, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			reply, _ := ask(t, k, context.Background(), c.query)
			if c.rcode == dns.RcodeFormatError {
				if opt := reply.IsEdns0(); reply.Rcode != c.rcode || reply.Authoritative || opt == nil || len(opt.Option) > 0 {
					t.Fatalf("reply %v; want FORMERR, with an OPT record", reply)
				}
				return
			}
			if reply.Rcode != c.rcode {
				t.Fatalf("rcode %s, want %s", dns.RcodeToString[reply.Rcode], dns.RcodeToString[c.rcode])
			}
			checkSubnet(t, reply, c.scope, c.sourceAddress)
			last := ""
			if n := len(reply.Answer); n > 0 {
				fields := strings.Fields(reply.Answer[n-1].String())
				last = fields[len(fields)-1]
			}
			if last != c.last {
				t.Errorf("answered %q, want %q", last, c.last)
			}
		})
	}
}

func checkSubnet(t *testing.T, reply *dns.Msg, scope int, address string) {
	t.Helper()
	opt := reply.IsEdns0()
	if scope < 0 {
		if opt != nil {
			t.Errorf("reply has the option %v without one in the query", opt)
		}
		return
	}
	if opt == nil || len(opt.Option) != 1 {
		t.Fatalf("OPT %v, want one with a client subnet", opt)
	}
	sub := opt.Option[0].(*dns.EDNS0_SUBNET)
	if int(sub.SourceScope) != scope || !sub.Address.Equal(net.ParseIP(address)) {
		t.Errorf("subnet %s/%d/%d, want %s with scope %d", sub.Address, sub.SourceNetmask, sub.SourceScope, address, scope)
	}
	// It must survive packing: the mask of the address is checked there.
	if _, err := reply.Pack(); err != nil {
		t.Error(err)
	}
}

// TestNotReady: nothing is known, so nothing is denied (rule 7.4).
func TestNotReady(t *testing.T) {
	k := newPlugin(t, "kuadrant example.com {\nfallthrough\n}", "")
	if k.Ready() {
		t.Error("ready without a snapshot")
	}
	m := question("a.example.com.", dns.TypeA)
	m.SetEdns0(1232, false)
	reply, _ := ask(t, k, context.Background(), m)
	checkServfail(t, reply)
	reply, _ = ask(t, k, context.Background(), question("a.example.com.", dns.TypeA))
	if reply.Rcode != dns.RcodeServerFailure || reply.IsEdns0() != nil {
		t.Errorf("without EDNS: %v", reply)
	}
}

func checkServfail(t *testing.T, reply *dns.Msg) {
	t.Helper()
	if reply.Rcode != dns.RcodeServerFailure || reply.Authoritative || len(reply.Answer)+len(reply.Ns) > 0 {
		t.Fatalf("reply %v, want a plain SERVFAIL", reply)
	}
	opt := reply.IsEdns0()
	if opt == nil || len(opt.Option) != 1 {
		t.Fatalf("OPT %v, want an extended error", opt)
	}
	if ede, ok := opt.Option[0].(*dns.EDNS0_EDE); !ok || ede.InfoCode != dns.ExtendedErrorCodeNotReady {
		t.Errorf("option %v, want EDE 14", opt.Option[0])
	}
}

// TestUnlisted: while a kind is not listed, known names are answered and
// nothing is denied (rule 7.4).
func TestUnlisted(t *testing.T) {
	c := oneHost(t)
	c.Listings[api.KindGateway] = api.NotListed
	k := newPlugin(t, "kuadrant example.com {\nfallthrough\n}", "", c)
	if reply, _ := ask(t, k, context.Background(), question("plain.example.com.", dns.TypeA)); len(reply.Answer) != 1 {
		t.Errorf("known name: %v", reply)
	}
	if reply, _ := ask(t, k, context.Background(), question("plain.example.com.", dns.TypeAAAA)); reply.Rcode != dns.RcodeSuccess || len(reply.Ns) != 1 {
		t.Errorf("a type that a name does not have, whose owner has been read: %v, want NODATA", reply)
	}
	q := question("no.example.com.", dns.TypeA)
	q.SetEdns0(1232, false)
	reply, _ := ask(t, k, context.Background(), q)
	checkServfail(t, reply)
	for _, state := range []api.Listing{api.NotInstalled, api.NotWatched, api.Listed} {
		c.Listings[api.KindGateway] = state
		k := newPlugin(t, "kuadrant example.com", "", c)
		if reply, _ := ask(t, k, context.Background(), question("no.example.com.", dns.TypeA)); reply.Rcode != dns.RcodeNameError {
			t.Errorf("listing %d: %v, want NXDOMAIN", state, reply)
		}
	}
}

func TestFallthrough(t *testing.T) {
	for _, c := range []struct {
		text, name string
		qtype      uint16
		next       bool
	}{
		{"kuadrant example.com", "no.example.com.", dns.TypeA, false},
		{"kuadrant example.com {\nfallthrough\n}", "no.example.com.", dns.TypeA, true},
		{"kuadrant example.com {\nfallthrough\n}", "NO.example.com.", dns.TypeA, true},
		{"kuadrant example.com {\nfallthrough\n}", "plain.example.com.", dns.TypeAAAA, false},
		{"kuadrant example.com {\nfallthrough sub.example.com\n}", "no.example.com.", dns.TypeA, false},
		{"kuadrant example.com {\nfallthrough sub.example.com\n}", "no.sub.example.com.", dns.TypeA, true},
		{"kuadrant example.com", "example.org.", dns.TypeA, true},
		{"kuadrant example.com", "badexample.com.", dns.TypeA, true},
	} {
		k := newPlugin(t, c.text, "", oneHost(t))
		_, rcode := ask(t, k, context.Background(), question(c.name, c.qtype))
		if next := rcode == rcodeNext; next != c.next {
			t.Errorf("%s, %s: goes on %v, want %v", c.text, c.name, next, c.next)
		}
	}
}

// brokenWriter is a client to which nothing can be sent.
type brokenWriter struct {
	test.ResponseWriter
	err error
}

func (w *brokenWriter) WriteMsg(*dns.Msg) error { return w.err }

// TestBug3A27ClientReadsNothing: a client that is gone, or that reads no answers, is no error of the server, which *errors* would log for
// each query. An answer without a wire form is.
func TestBug3A27ClientReadsNothing(t *testing.T) {
	k := newPlugin(t, "kuadrant example.com", "", oneHost(t))
	q := new(dns.Msg).SetQuestion("plain.example.com.", dns.TypeA)
	for _, c := range []struct {
		err   error
		rcode int
	}{
		{&net.OpError{Op: "write", Net: "tcp", Err: os.ErrDeadlineExceeded}, dns.RcodeSuccess},
		{net.ErrClosed, dns.RcodeSuccess},
		{dns.ErrRdata, dns.RcodeServerFailure},
	} {
		rcode, err := k.ServeDNS(t.Context(), &brokenWriter{err: c.err}, q)
		if rcode != c.rcode || (err != nil) != (rcode != dns.RcodeSuccess) {
			t.Errorf("%v: %s, %v", c.err, dns.RcodeToString[rcode], err)
		}
	}
}

// TestOtherQueries: what no plugin before us took is refused, not answered.
func TestOtherQueries(t *testing.T) {
	k := newPlugin(t, "kuadrant example.com", "", oneHost(t))
	notify := question("example.com.", dns.TypeSOA)
	notify.Opcode = dns.OpcodeNotify
	chaos := question("plain.example.com.", dns.TypeTXT)
	chaos.Question[0].Qclass = dns.ClassCHAOS
	for _, c := range []struct {
		query *dns.Msg
		rcode int
	}{
		{question("example.com.", dns.TypeAXFR), dns.RcodeRefused},
		{question("example.com.", dns.TypeIXFR), dns.RcodeRefused},
		{notify, dns.RcodeRefused},
		{chaos, rcodeNext},
	} {
		reply, rcode := ask(t, k, context.Background(), c.query)
		if reply != nil {
			rcode = reply.Rcode
		}
		if rcode != c.rcode || reply != nil && (reply.Authoritative || len(reply.Answer) > 0) {
			t.Errorf("%v: rcode %d, reply %v; want %d", c.query.Question[0], rcode, reply, c.rcode)
		}
	}
	k.Next = nil
	if _, rcode := ask(t, k, context.Background(), question("example.org.", dns.TypeA)); rcode != dns.RcodeRefused {
		t.Errorf("outside every zone and nobody next: rcode %d, want REFUSED", rcode)
	}
}

// TestLongestZone: of two zones of one Corefile the longer answers,
// and DS goes to the one above the cut.
func TestLongestZone(t *testing.T) {
	k := newPlugin(t, "kuadrant example.com shop.example.com", "", oneHost(t))
	reply, _ := ask(t, k, context.Background(), question("no.shop.example.com.", dns.TypeA))
	if got := reply.Ns[0].Header().Name; got != "shop.example.com." {
		t.Errorf("denied by %s, want shop.example.com.", got)
	}
	reply, _ = ask(t, k, context.Background(), question("shop.example.com.", dns.TypeDS))
	if got := reply.Ns[0].Header().Name; got != "example.com." {
		t.Errorf("DS denied by %s, want example.com.", got)
	}
	// The host is an apex here: no CNAME may stand there.
	reply, _ = ask(t, k, context.Background(), question("shop.example.com.", dns.TypeA))
	if len(reply.Answer) != 1 || reply.Answer[0].Header().Rrtype != dns.TypeA {
		t.Errorf("apex answered %v, want one address", reply.Answer)
	}
}

// TestMetadata: the values tell of the choice that the reply shows.
func TestMetadata(t *testing.T) {
	k := newPlugin(t, "kuadrant example.com", shopNets, oneHost(t))
	for _, early := range []bool{false, true} {
		ctx := metadata.ContextWithMetadata(context.Background())
		m := withSubnet(question("shop.example.com.", dns.TypeA), 1, "10.2.0.0", 24, 0)
		ctx = k.Metadata(ctx, request.Request{Req: m, W: &test.ResponseWriter{RemoteIP: "10.1.0.1"}})
		if early { // as the view plugin does
			metadata.ValueFunc(ctx, "kuadrant/member")()
		}
		reply, _ := ask(t, k, ctx, m)
		if len(reply.Answer) != 4 {
			t.Fatalf("answer %v", reply.Answer)
		}
		usLeaf := reply.Answer[3].Header().Name
		// The owner of the name is the older policy, whoever the member's is.
		for label, want := range map[string]string{
			"kuadrant/owner": "ns/ie", "kuadrant/geo": "US", "kuadrant/class": "up", "kuadrant/scope": "17",
			"kuadrant/member": strings.TrimSuffix(usLeaf, "."),
		} {
			if got := metadata.ValueFunc(ctx, label)(); got != want {
				t.Errorf("%s is %q, want %q", label, got, want)
			}
		}
	}
}

// TestMetadataAfterRewrite: a name that was rewritten after somebody asked for
// metadata is looked up again.
func TestMetadataAfterRewrite(t *testing.T) {
	k := newPlugin(t, "kuadrant example.com", "", oneHost(t))
	ctx := metadata.ContextWithMetadata(context.Background())
	m := question("shop.example.com.", dns.TypeA)
	ctx = k.Metadata(ctx, request.Request{Req: m, W: &test.ResponseWriter{}})
	metadata.ValueFunc(ctx, "kuadrant/geo")()
	m.Question[0].Name = "plain.example.com."
	reply, _ := ask(t, k, ctx, m)
	if len(reply.Answer) != 1 || reply.Answer[0].Header().Name != "plain.example.com." {
		t.Errorf("answered %v", reply.Answer)
	}
	if owner := metadata.ValueFunc(ctx, "kuadrant/owner")(); owner != "ns/plain" {
		t.Errorf("owner %q, want ns/plain", owner)
	}
}

func TestCacheBypassZones(t *testing.T) {
	k := newPlugin(t, "kuadrant Example.com k.example.org", "")
	if got := strings.Join(k.CacheBypassZones(), " "); got != "example.com. k.example.org." {
		t.Errorf("bypassed %s", got)
	}
}

func TestRemoteAddr(t *testing.T) {
	want := netip.MustParseAddr("192.0.2.1")
	for _, a := range []net.Addr{
		&net.UDPAddr{IP: net.ParseIP("192.0.2.1")}, &net.TCPAddr{IP: net.ParseIP("::ffff:192.0.2.1")},
		&net.IPAddr{IP: net.ParseIP("192.0.2.1")}, textAddr("192.0.2.1:53"),
	} {
		if got := remoteAddr(a); got != want {
			t.Errorf("%T: %s, want %s", a, got, want)
		}
	}
	for _, a := range []net.Addr{nil, textAddr("pipe"), &net.UDPAddr{}} {
		if got := remoteAddr(a); got.IsValid() {
			t.Errorf("%v: %s, want none", a, got)
		}
	}
}

type textAddr string

func (a textAddr) Network() string { return "test" }
func (a textAddr) String() string  { return string(a) }

// TestExtendScope: the scope is the longer of the two, in the family in which the client was located.
func TestExtendScope(t *testing.T) {
	subnet := func(family uint16, ip string, source uint8) *dns.EDNS0_SUBNET {
		return &dns.EDNS0_SUBNET{Code: dns.EDNS0SUBNET, Family: family, SourceNetmask: source, Address: net.ParseIP(ip)}
	}
	v4, v6, mappedV4 := subnet(familyIPv4, "198.51.100.0", 24), subnet(familyIPv6, "2001:db8::", 48), subnet(familyIPv6, "::ffff:198.51.100.0", 120)
	for _, c := range []struct {
		name        string
		asked, said *dns.EDNS0_SUBNET
		scope       int // of the answer so far
		saidScope   int
		want        int
	}{
		{"a longer one", v4, v4, 16, 20, 20},
		{"a shorter one", v4, v4, 24, 20, 24},
		{"none was asked for", nil, v4, 0, 20, 0},
		{"another family", v4, v6, 16, 48, 16},
		{"an IPv4 address in IPv6", mappedV4, mappedV4, 16, 20, 20},
	} {
		l := lookup{subnet: c.asked, answer: records.Answer{Scope: c.scope}}
		m := new(dns.Msg).SetEdns0(1232, false)
		said := subnetReply(c.said, c.saidScope)
		m.IsEdns0().Option = []dns.EDNS0{&said}
		if l.extend(m); l.answer.Scope != c.want {
			t.Errorf("%s: scope %d, want %d", c.name, l.answer.Scope, c.want)
		}
	}
}

// TestLongestZones: whatever the length of a Zone's name, every reply about it can be
// read by a client. What the server makes up for a zone, such as hostmaster.<zone>
// (rule 6.8), has room in 255 octets or is not there (rule 8.4).
func TestLongestZones(t *testing.T) {
	labels := strings.Repeat(strings.Repeat("a", 63)+".", 3)
	for n := 20; n <= 63; n++ {
		o, origin := boottest.NewZoneObjects(), labels+strings.Repeat("b", n)+".example.org."
		o.Zone(origin)
		k, name := newPlugin(t, "kuadrant example.org", "", o.Published()), origin
		if len(origin) > 254 { // no query can hold it
			name = origin[strings.IndexByte(origin, '.')+1:]
		}
		for _, qtype := range []uint16{dns.TypeSOA, dns.TypeNS, dns.TypeA, dns.TypeDS} {
			reply, _ := ask(t, k, context.Background(), question(name, qtype))
			wire, err := reply.Pack()
			if err == nil {
				err = new(dns.Msg).Unpack(wire)
			}
			if err != nil {
				t.Errorf("zone of %d octets, %s: %v", len(origin)+1, dns.TypeToString[qtype], err)
			}
		}
	}
}

// TestGeoQueriesDuringUpdates asks for a weightedGeo host from several places in parallel with changes of its objects: every
// answer is whole, and one that the objects of some moment allow for the client's place.
func TestGeoQueriesDuringUpdates(t *testing.T) {
	const versions = 300
	both, alone := oneHost(t), oneHost(t)
	edit := alone.Gateways.Edit()
	edit.Delete("ns/us")
	alone.Gateways = edit.Map()
	k := newPlugin(t, "kuadrant example.com", shopNets, both)
	places := map[string][]string{"10.1.0.1": {"ie 192.0.2.1"}, "10.2.0.1": {"us 192.0.2.2", "ie 192.0.2.1"}, "172.16.0.1": {"ie 192.0.2.1"}}
	var clients sync.WaitGroup
	done, asked := new(atomic.Bool), make(map[string]*atomic.Int64)
	for from, may := range places {
		asked[from] = new(atomic.Int64)
		n := asked[from]
		clients.Go(func() {
			for !done.Load() && !t.Failed() {
				rec := dnstest.NewRecorder(&test.ResponseWriter{RemoteIP: from})
				if _, err := k.ServeDNS(context.Background(), rec, question("shop.example.com.", dns.TypeA)); err != nil || !slices.Contains(may, endOfChain(rec.Msg)) {
					t.Errorf("from %s: %v, %v", from, err, rec.Msg)
				}
				n.Add(1)
			}
		})
	}
	for v := 0; v < versions || slices.ContainsFunc(slices.Collect(maps.Values(asked)), func(n *atomic.Int64) bool { return n.Load() < versions }) && !t.Failed(); v++ {
		c := []*api.Cluster{both, alone}[v%2]
		k.engine.Publish(records.Compile(nil, api.Objects{Clusters: []*api.Cluster{c}}, k.engine.Options(), k.engine.Now()))
	}
	done.Store(true)
	clients.Wait()
}

// endOfChain returns the geography and the address of a reply that is a whole chain; "" for any other.
func endOfChain(m *dns.Msg) (end string) {
	next := "shop.example.com."
	for i, rr := range m.Answer {
		if rr.Header().Name != next {
			return ""
		}
		switch rr := rr.(type) {
		case *dns.CNAME:
			if next = rr.Target; i == 1 {
				end, _, _ = strings.Cut(next, ".")
			}
		case *dns.A:
			end += " " + rr.A.String()
		}
	}
	return end
}

// dnssecFor returns what puts the dnssec plugin in front, with one key for the zones.
func dnssecFor(t testing.TB, zones ...string) plugin.Plugin {
	t.Helper()
	for i := range zones {
		zones[i] = dns.Fqdn(zones[i])
	}
	_, base := newKey(t, t.TempDir(), zones[0], 257)
	key, err := dnssec.ParseKeyFile(base+".key", base+".private")
	if err != nil {
		t.Fatal(err)
	}
	signatures := cache.New[[]dns.RR](1000)
	return func(next plugin.Handler) plugin.Handler {
		return dnssec.New(zones, []*dnssec.DNSKEY{key}, false, next, signatures)
	}
}

// TestDNSSECOthers: a transfer passes the dnssec plugin by, whatever the client wants; and
// what another plugin says of names that are not here is signed as it is.
func TestDNSSECOthers(t *testing.T) {
	k := newPlugin(t, "kuadrant example.com {\nfallthrough\n}", "", oneHost(t))
	record := func(text string) dns.RR {
		rr, err := dns.NewRR(text)
		if err != nil {
			t.Fatal(err)
		}
		return rr
	}
	soa, a := record("example.com. 60 SOA a. b. 1 2 3 4 5"), record("www.example.com. 60 A 192.0.2.1")
	behind := plugin.HandlerFunc(func(_ context.Context, w dns.ResponseWriter, r *dns.Msg) (int, error) {
		m := new(dns.Msg).SetReply(r)
		if r.Question[0].Qtype == dns.TypeDS {
			m.Ns = []dns.RR{soa}
		} else {
			m.Answer = []dns.RR{soa, a, soa}
		}
		return dns.RcodeSuccess, w.WriteMsg(m)
	})
	chain := k.guard(dnssecFor(t, "example.com"))(behind)
	ask := func(name string, qtype uint16) *dns.Msg {
		m := question(name, qtype)
		m.SetEdns0(1232, true)
		rec := dnstest.NewRecorder(&test.ResponseWriter{TCP: true})
		if _, err := chain.ServeDNS(context.Background(), rec, m); err != nil {
			t.Fatal(err)
		}
		return rec.Msg
	}
	for qtype, signatures := range map[uint16]int{dns.TypeAXFR: 0, dns.TypeIXFR: 0, dns.TypeA: 2} {
		if reply := ask("example.com.", qtype); len(reply.Answer)-3 != signatures {
			t.Errorf("%s: want %d signatures: %v", dns.TypeToString[qtype], signatures, reply)
		}
	}
	reply := ask("cut.example.com.", dns.TypeDS) // it may be a cut: nobody here knows
	nsec := slices.IndexFunc(reply.Ns, func(rr dns.RR) bool { return rr.Header().Rrtype == dns.TypeNSEC })
	if nsec < 0 || !slices.Contains(reply.Ns[nsec].(*dns.NSEC).TypeBitMap, dns.TypeNS) {
		t.Errorf("the denial is not the plugin's: %v", reply)
	}
}

// TestDNSSECUnsigned: a proof goes out with its signature or not at all.
func TestDNSSECUnsigned(t *testing.T) {
	bare := func(next plugin.Handler) plugin.Handler {
		return dnssec.New([]string{"example.com."}, nil, false, next, cache.New[[]dns.RR](10))
	}
	for name, c := range map[string]struct {
		add    plugin.Plugin
		passed bool // the dnssec plugin is passed by
		rcode  int
		nsec   bool
	}{
		"signed":     {add: dnssecFor(t, "example.com"), rcode: dns.RcodeSuccess, nsec: true},
		"no key":     {add: bare, rcode: dns.RcodeNameError},
		"not signed": {add: dnssecFor(t, "example.com"), passed: true, rcode: dns.RcodeNameError}, // such as a zone that has just come
	} {
		t.Run(name, func(t *testing.T) {
			k := newPlugin(t, "kuadrant example.com", "", oneHost(t))
			chain := k.guard(c.add)(k)
			if c.passed {
				chain = k
			}
			m := question("nope.example.com.", dns.TypeA)
			m.SetEdns0(1232, true)
			rec := dnstest.NewRecorder(&test.ResponseWriter{})
			if _, err := chain.ServeDNS(context.Background(), rec, m); err != nil {
				t.Fatal(err)
			}
			if got := slices.ContainsFunc(rec.Msg.Ns, isNSEC); rec.Msg.Rcode != c.rcode || got != c.nsec || len(rec.Msg.Ns) == 0 || !isSOA(rec.Msg.Ns[0]) {
				t.Errorf("want %s, NSEC %v: %v", dns.RcodeToString[c.rcode], c.nsec, rec.Msg)
			}
		})
	}
}

// TestDNSSECFallthrough: a denial of ours has our proof where missing names are another plugin's, too.
func TestDNSSECFallthrough(t *testing.T) {
	k := newPlugin(t, "kuadrant example.com {\nfallthrough\n}", "", oneHost(t))
	rec := dnstest.NewRecorder(&test.ResponseWriter{})
	m := question("plain.example.com.", dns.TypeDS)
	m.SetEdns0(1232, true)
	if _, err := k.guard(dnssecFor(t, "example.com"))(k).ServeDNS(context.Background(), rec, m); err != nil {
		t.Fatal(err)
	}
	nsec := slices.IndexFunc(rec.Msg.Ns, isNSEC)
	if nsec < 0 || !slices.Equal(rec.Msg.Ns[nsec].(*dns.NSEC).TypeBitMap, []uint16{dns.TypeA, dns.TypeRRSIG, dns.TypeNSEC}) {
		t.Errorf("the denial is not ours: %v", rec.Msg)
	}
}
