package dnssec

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	_ "github.com/coredns/coredns/plugin/dnssec"
	_ "github.com/coredns/coredns/plugin/minimal"
	_ "github.com/coredns/coredns/plugin/multisocket"
	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/internal/boottest"
	"github.com/coredns-kuadrant/kuadrant/internal/peertest"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// signedWorld is a CoreDNS with signed zones on loopback: example.com and example.org with one key
// in one server block, signed.example.com with its own key in another, and plain.example.com, which
// is unsigned.
type signedWorld struct {
	t    *testing.T
	addr string
	dir  string // of the manifests
	keys map[string]*dns.DNSKEY
	// overrides is the file of the property override.
	overrides string
}

// signedZones are the zones with keys.
var signedZones = []string{"example.com.", "example.org.", "signed.example.com."}

const signedGateways = `{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, metadata: {namespace: dns, name: plain, labels: {}},
 spec: {gatewayClassName: x, listeners: [{name: a, hostname: host.example.com, port: 80, protocol: HTTP},
  {name: w, hostname: "*.gw.example.com", port: 80, protocol: HTTP}]},
 status: {addresses: [{value: 192.0.2.1}, {value: 192.0.2.2}]}}
---
{apiVersion: kuadrant.io/v1, kind: DNSPolicy, metadata: {namespace: dns, name: plain},
 spec: {targetRef: {group: gateway.networking.k8s.io, kind: Gateway, name: plain}}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, metadata: {namespace: dns, name: ie},
 spec: {gatewayClassName: x, listeners: [{name: a, hostname: shop.example.com, port: 80, protocol: HTTP},
  {name: w, hostname: "*.pool.example.com", port: 80, protocol: HTTP}]},
 status: {addresses: [{value: 192.0.2.10}, {value: 192.0.2.11}]}}
---
{apiVersion: kuadrant.io/v1, kind: DNSPolicy, metadata: {namespace: dns, name: ie},
 spec: {targetRef: {group: gateway.networking.k8s.io, kind: Gateway, name: ie}, loadBalancing: {weight: 100, geo: IE, defaultGeo: true}}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, metadata: {namespace: dns, name: us},
 spec: {gatewayClassName: x, listeners: [{name: a, hostname: shop.example.com, port: 80, protocol: HTTP}]},
 status: {addresses: [{value: 192.0.2.20}]}}
---
{apiVersion: kuadrant.io/v1, kind: DNSPolicy, metadata: {namespace: dns, name: us},
 spec: {targetRef: {group: gateway.networking.k8s.io, kind: Gateway, name: us}, loadBalancing: {weight: 100, geo: US, defaultGeo: false}}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, metadata: {namespace: dns, name: apex},
 spec: {gatewayClassName: x, listeners: [{name: a, hostname: example.org, port: 80, protocol: HTTP}]},
 status: {addresses: [{value: 192.0.2.30}, {value: "2001:db8::30"}]}}
---
{apiVersion: kuadrant.io/v1, kind: DNSPolicy, metadata: {namespace: dns, name: apex},
 spec: {targetRef: {group: gateway.networking.k8s.io, kind: Gateway, name: apex}, loadBalancing: {weight: 100, geo: IE, defaultGeo: true}}}
`

// signedRecords are lines of owner name, type, TTL and data. An owner belongs to the longest Zone
// that matches it.
const signedRecords = `
@.example.com NS 3600 ns.example.com.
@.example.com MX 3600 10 mail.example.com.
ns.example.com A 3600 192.0.2.53
ns.example.com AAAA 3600 2001:db8::53
www.example.com A 300 192.0.2.80
www.example.com A 300 192.0.2.81
www.example.com TXT 86400 "one" "two"
mail.example.com A 300 192.0.2.25
mx.example.com MX 300 10 mail.example.com.
mx.example.com MX 300 20 www.signed.example.com.
mx.example.com MX 300 30 ns.secure.example.com.
a.ent.example.com A 300 192.0.2.7
*.wild.example.com A 300 192.0.2.9
*.wc.example.com CNAME 300 www.example.com.
*.wn.example.com CNAME 300 nope.example.com.
alias.example.com CNAME 300 www.example.com.
tonope.example.com CNAME 300 nope.example.com.
toent.example.com CNAME 300 ent.example.com.
towild.example.com CNAME 300 x.wild.example.com.
tohost.example.com CNAME 300 host.example.com.
toshop.example.com CNAME 300 shop.example.com.
toapex.example.com CNAME 300 example.org.
toorg.example.com CNAME 300 alias.example.org.
tosigned.example.com CNAME 300 www.signed.example.com.
tosignedzone.example.com CNAME 300 signed.example.com.
toplain.example.com CNAME 300 www.plain.example.com.
toplainzone.example.com CNAME 300 plain.example.com.
tocut.example.com CNAME 300 www.cut.example.com.
tocutzone.example.com CNAME 300 cut.example.com.
dn.example.com DNAME 300 tree.example.com.
h.tree.example.com A 300 192.0.2.12
loop.example.com CNAME 300 back.loop.example.com.
back.loop.example.com CNAME 300 loop.example.com.
todn.example.com CNAME 300 h.dn.example.com.
long.example.com DNAME 300 %s.example.com.
cut.example.com NS 300 ns.elsewhere.net.
secure.example.com NS 300 ns.secure.example.com.
secure.example.com DS 300 12345 13 2 0123456789ABCDEF0123456789ABCDEF0123456789ABCDEF0123456789ABCDEF
ns.secure.example.com A 300 192.0.2.66
alias.example.org CNAME 300 www.example.org.
www.example.org A 300 192.0.2.90
back.example.org CNAME 300 nope.example.com.
@.signed.example.com NS 3600 ns.signed.example.com.
ns.signed.example.com A 3600 192.0.2.54
www.signed.example.com A 300 192.0.2.91
up.signed.example.com CNAME 300 www.example.com.
@.plain.example.com NS 3600 ns.plain.example.com.
ns.plain.example.com A 3600 192.0.2.55
www.plain.example.com A 300 192.0.2.92
up.plain.example.com CNAME 300 www.example.com.
over.plain.example.com CNAME 300 www.plain.example.com.
nope.plain.example.com CNAME 300 nowhere.plain.example.com.
`

// newSignedWorld boots a signedWorld. more is put at the start of each server block.
func newSignedWorld(t *testing.T, more string) *signedWorld {
	t.Helper()
	w := &signedWorld{t: t, dir: t.TempDir(), keys: make(map[string]*dns.DNSKEY), overrides: filepath.Join(t.TempDir(), "override")}
	keys, nets := t.TempDir(), filepath.Join(t.TempDir(), "nets")
	top, topFile := boottest.NewKey(t, keys, "example.com.", 257)
	sub, subFile := boottest.NewKey(t, keys, "signed.example.com.", 257)
	org := *top
	org.Hdr.Name = "example.org."
	w.keys["example.com."], w.keys["example.org."], w.keys["signed.example.com."] = top, &org, sub

	boottest.WriteFile(t, nets, "10.0.0.0/8 US\n")
	boottest.WriteFile(t, w.overrides, "\n")
	boottest.WriteFile(t, filepath.Join(w.dir, "gateways.yaml"), signedGateways)
	label := strings.Repeat("a", 63)
	boottest.WriteFile(t, filepath.Join(w.dir, "records.yaml"), recordManifests(t,
		fmt.Sprintf(signedRecords, strings.Repeat(label+".", 3)[:180])+"signed.example.com DS 300 "+data(sub.ToDS(dns.SHA256))+"\n"))
	port := peertest.FreePort(t)
	w.addr = fmt.Sprintf("127.0.0.1:%d", port)
	boottest.Serve(t, strings.NewReplacer("PORT", fmt.Sprint(port), "MORE", more, "TOPKEY", topFile, "SUBKEY", subFile,
		"MANIFESTS", w.dir, "NETS", nets, "OVERRIDE", w.overrides).Replace(`
example.com:PORT example.org:PORT {
    bind 127.0.0.1
    MORE
    metadata
    dnssec {
        key file TOPKEY
    }
    kuadrant {
        manifests MANIFESTS c
        nets NETS
        override OVERRIDE
    }
}
signed.example.com:PORT {
    bind 127.0.0.1
    MORE
    dnssec {
        key file SUBKEY
    }
    kuadrant
}
`))
	boottest.WaitFor(t, "snapshot", func() bool {
		return boottest.FirstA(boottest.Exchange(t, w.addr, "host.example.com.", dns.TypeA)) == "192.0.2.1" &&
			boottest.FirstA(boottest.Exchange(t, w.addr, "www.plain.example.com.", dns.TypeA)) == "192.0.2.92"
	})
	return w
}

func data(rr dns.RR) string { return strings.TrimPrefix(rr.String(), rr.Header().String()) }

// recordManifests returns the Zones and the Records for lines as in signedRecords.
func recordManifests(t *testing.T, lines string) string {
	t.Helper()
	var out strings.Builder
	for _, zone := range []string{"example.com", "example.org", "signed.example.com", "plain.example.com"} {
		fmt.Fprintf(&out, "{apiVersion: kubi.zone/v1alpha1, kind: Zone, metadata: {name: %s, namespace: dns}, spec: {domainName: %s., delegations: [{zones: [\"*\"], records: [{pattern: \"*\"}, {pattern: \"@\"}]}]}}\n---\n", zone, zone)
	}
	n := 0
	for line := range strings.Lines(lines) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		f := strings.SplitN(line, " ", 4)
		if len(f) != 4 {
			t.Fatalf("line %q has no four fields", line)
		}
		n++
		fmt.Fprintf(&out, "{apiVersion: kubi.zone/v1alpha1, kind: Record, metadata: {name: r%d, namespace: dns}, spec: {domainName: %q, type: %s, ttl: %s, rdata: %q}}\n---\n",
			n, strings.TrimPrefix(f[0], "@.")+".", f[1], f[2], f[3])
	}
	return out.String()
}

// ask sends a query with DO set.
func (w *signedWorld) ask(network string, m *dns.Msg) *dns.Msg {
	w.t.Helper()
	if m.IsEdns0() == nil {
		m.SetEdns0(4096, true)
	}
	m.IsEdns0().SetDo()
	reply, _, err := boottest.Client(network).Exchange(m, w.addr)
	if err != nil {
		w.t.Fatal(err)
	}
	return reply
}

// signerOf returns the zone whose key signs data of the type at the name; "" for none.
func signerOf(name string, rtype uint16) (signer string) {
	for _, zone := range append(slices.Clone(signedZones), "plain.example.com.", "cut.example.com.", "secure.example.com.") {
		if dns.IsSubDomain(zone, name) && len(zone) > len(signer) && (rtype != dns.TypeDS && rtype != dns.TypeNSEC || zone != name || slices.Contains(signedZones, zone) && rtype == dns.TypeNSEC) {
			signer = zone
		}
	}
	if !slices.Contains(signedZones, signer) {
		return ""
	}
	return signer
}

type setKey struct {
	name  string
	rtype uint16
}

// rrsetsOf returns the RRsets of a section, and their signatures.
func rrsetsOf(rrs []dns.RR) (sets map[setKey][]dns.RR, signatures map[setKey][]*dns.RRSIG) {
	sets, signatures = make(map[setKey][]dns.RR), make(map[setKey][]*dns.RRSIG)
	for _, rr := range rrs {
		switch rr := rr.(type) {
		case *dns.OPT:
		case *dns.RRSIG:
			k := setKey{rr.Hdr.Name, rr.TypeCovered}
			signatures[k] = append(signatures[k], rr)
		default:
			k := setKey{rr.Header().Name, rr.Header().Rrtype}
			sets[k] = append(sets[k], rr)
		}
	}
	return sets, signatures
}

// validate checks the signatures of all RRsets in a reply: each has one by the key of its zone, and
// data that no signed zone vouches for have none.
func (w *signedWorld) validate(reply *dns.Msg) {
	w.t.Helper()
	referral := !reply.Authoritative && reply.Rcode == dns.RcodeSuccess
	for section, rrs := range map[string][]dns.RR{"answer": reply.Answer, "authority": reply.Ns, "additional": reply.Extra} {
		sets, signatures := rrsetsOf(rrs)
		for k := range signatures {
			if sets[k] == nil {
				w.t.Errorf("%s: a signature of %s %s, which is not there", section, k.name, dns.TypeToString[k.rtype])
			}
		}
		for k, set := range sets {
			signer := signerOf(k.name, k.rtype)
			if referral {
				signer = ""
				if k.rtype == dns.TypeDS || k.rtype == dns.TypeNSEC {
					signer = "example.com."
				}
			}
			what := fmt.Sprintf("%s: %s %s", section, k.name, dns.TypeToString[k.rtype])
			if signer == "" {
				if len(signatures[k]) > 0 {
					w.t.Errorf("%s: signed with the key of %s", what, signatures[k][0].SignerName)
				}
				continue
			}
			if len(signatures[k]) != 1 {
				w.t.Errorf("%s: %d signatures, want 1", what, len(signatures[k]))
				continue
			}
			sig := signatures[k][0]
			if sig.SignerName != signer {
				w.t.Errorf("%s: signed by %s, want %s", what, sig.SignerName, signer)
				continue
			}
			if err := sig.Verify(w.keys[signer], set); err != nil {
				w.t.Errorf("%s: %v", what, err)
			}
			if !sig.ValidityPeriod(time.Now()) || int(sig.Labels) != dns.CountLabel(strings.TrimPrefix(k.name, "*.")) {
				w.t.Errorf("%s: signature %v", what, sig)
			}
		}
	}
}

// denial checks that the reply proves that name lacks the type, and returns the types that the
// proof lists for the name.
func (w *signedWorld) denial(reply *dns.Msg, name string, qtype uint16) []uint16 {
	w.t.Helper()
	var found []*dns.NSEC
	for _, rr := range append(slices.Clone(reply.Ns), reply.Answer...) {
		if n, ok := rr.(*dns.NSEC); ok {
			found = append(found, n)
		}
	}
	if len(found) != 1 {
		w.t.Fatalf("%d NSEC records, want 1:\n%v", len(found), reply)
	}
	n := found[0]
	if n.Hdr.Name != name || n.NextDomain != "\\000."+name && len(name) < rdata.MaxName-1 {
		w.t.Errorf("NSEC from %s to %s, want from %s to \\000.%s", n.Hdr.Name, n.NextDomain, name, name)
	}
	if qtype != dns.TypeNSEC && slices.Contains(n.TypeBitMap, qtype) || slices.Contains(n.TypeBitMap, dns.TypeCNAME) {
		w.t.Errorf("NSEC with the types %v denies neither %s nor CNAME", n.TypeBitMap, dns.TypeToString[qtype])
	}
	if !slices.Contains(n.TypeBitMap, dns.TypeRRSIG) || !slices.Contains(n.TypeBitMap, dns.TypeNSEC) {
		w.t.Errorf("NSEC with the types %v lacks its own", n.TypeBitMap)
	}
	if qtype != dns.TypeNSEC {
		soa, ok := reply.Ns[0].(*dns.SOA)
		if !ok || n.Hdr.Ttl != soa.Hdr.Ttl {
			w.t.Errorf("no SOA, or another TTL than the NSEC's:\n%v", reply)
		}
	}
	return n.TypeBitMap
}
