package inspect

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/miekg/dns"
)

// newZoneKey returns a key that signs other keys.
func newZoneKey(t *testing.T) *dns.DNSKEY {
	t.Helper()
	key := &dns.DNSKEY{
		Hdr:   dns.RR_Header{Name: "k.example.com.", Rrtype: dns.TypeDNSKEY, Class: dns.ClassINET, Ttl: 3600},
		Flags: dns.ZONE | dns.SEP, Protocol: 3, Algorithm: dns.ECDSAP256SHA256,
	}
	_, err := key.Generate(256)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// goodDelegation is one with which nothing is wrong: two servers, signed.
func goodDelegation(t *testing.T, key *dns.DNSKEY) *Delegation {
	ns := []string{"ns1.k.example.com.", "ns2.k.example.com."}
	addrs := map[string][]netip.Addr{
		ns[0]: {netip.MustParseAddr("192.0.2.1")},
		ns[1]: {netip.MustParseAddr("192.0.2.2"), netip.MustParseAddr("2001:db8::2")},
	}
	soa := rrs(t, "k.example.com. 300 SOA ns1.k.example.com. hostmaster.example.com. 7 1 1 1 60")[0].(*dns.SOA)
	d := &Delegation{Zone: "k.example.com.", NS: ns, Addresses: addrs}
	for _, server := range []string{"a.example.net", "b.example.net"} {
		d.Parents = append(d.Parents, ParentReply{Server: server, Rcode: "NOERROR", NS: ns, Glue: addrs, DS: []*dns.DS{key.ToDS(dns.SHA256)}})
	}
	for _, name := range ns {
		for _, a := range addrs[name] {
			d.Servers = append(d.Servers, ServerReply{
				Name: name, Addr: a, Rcode: "NOERROR", Authoritative: true, Serial: 7, NS: ns, SOA: soa, Keys: []*dns.DNSKEY{key},
			})
		}
	}
	return d
}

// TestDelegation: each mistake is found, and what is right is not.
func TestDelegation(t *testing.T) {
	key := newZoneKey(t)
	other := newZoneKey(t)
	down := errors.New("no answer")
	three := []string{"ns1.k.example.com.", "ns2.k.example.com.", "ns3.k.example.com."}
	for name, c := range map[string]struct {
		change func(*Delegation)
		want   []string // severity, reason and a part of the text
	}{
		"nothing":     {func(*Delegation) {}, nil},
		"unsigned":    {func(d *Delegation) { unsign(d); d.noDS() }, nil},
		"parent away": {func(d *Delegation) { d.Parents[1].Err = down }, []string{"error ParentAway b.example.net: no answer"}},
		"parent unreached": {
			func(d *Delegation) { d.Parents[1].Err, d.Parents[1].NoRoute = down, true },
			[]string{"warning ParentAway cannot be asked from here"},
		},
		"one serves": {func(d *Delegation) { d.Parents[0].Serves, d.Parents[0].Glue = true, nil }, nil},
		"all serve": {
			func(d *Delegation) { d.Parents[0].Serves, d.Parents[1].Serves, d.Parents[0].Glue = true, true, nil },
			[]string{"warning NotSeen serve the zone themselves"},
		},
		"not looked up": {
			func(d *Delegation) { d.Unknown = []UnknownServer{{"ns.example.net.", down}} },
			[]string{"warning NoAddress cannot be looked up: no answer"},
		},
		"not delegated": {
			func(d *Delegation) { d.Parents[0] = ParentReply{Server: "a.example.net", Rcode: "NXDOMAIN"} },
			[]string{"error NotDelegated answers NXDOMAIN; nobody finds the zone through it. Add to the parent: ns1.k.example.com, " +
				"ns2.k.example.com"},
		},
		"one too many": {
			func(d *Delegation) { d.Parents[0].NS = three },
			[]string{"error ParentNS names ns3.k.example.com, which", "error Glue no address (glue) for ns3.k.example.com"},
		},
		"one too few": {func(d *Delegation) { d.Parents[0].NS = three[:1] }, []string{"warning ParentNS does not name ns2.k.example.com"}},
		"no glue": {
			func(d *Delegation) { d.Parents[0].Glue = nil },
			[]string{"error Glue for ns1.k.example.com", "error Glue for ns2.k.example.com"},
		},
		"wrong glue": {func(d *Delegation) {
			d.Parents[0].Glue = map[string][]netip.Addr{three[0]: {netip.MustParseAddr("192.0.2.9")}, three[1]: d.Addresses[three[1]]}
		}, []string{"error Glue ns1.k.example.com at 192.0.2.9, but it is at 192.0.2.1"}},
		"less glue": {func(d *Delegation) {
			d.Parents[0].Glue = map[string][]netip.Addr{three[0]: d.Addresses[three[0]], three[1]: d.Addresses[three[1]][:1]}
		}, []string{"warning Glue (glue) of ns2.k.example.com: 2001:db8::2"}},
		"glue of a name without addresses": {func(d *Delegation) {
			d.Addresses = map[string][]netip.Addr{three[0]: d.Addresses[three[0]]}
		}, []string{"error Glue has ns2.k.example.com at 192.0.2.2, 2001:db8::2, but the zone has no address for it"}},
		"parent resolves": {
			func(d *Delegation) { d.Parents[0].Resolves, d.Parents[0].Glue, d.Parents[0].DS = true, nil, nil },
			[]string{"error ParentAway a.example.net answers without AA"},
		},
		"too many servers": {func(d *Delegation) { d.Unasked = 7 }, []string{"warning ServerAway skipping 7"}},
		"DS of a kind that is not known": {func(d *Delegation) {
			odd := *key.ToDS(dns.SHA256)
			odd.DigestType = 99
			d.setDS(&odd)
		}, []string{"warning DS has an unknown algorithm or digest"}},
		"DS of two kinds": {func(d *Delegation) {
			odd := *key.ToDS(dns.SHA256)
			odd.Algorithm = dns.ED448
			d.setDS(&odd, key.ToDS(dns.SHA256), key.ToDS(dns.SHA1), key.ToDS(dns.SHA384))
		}, []string{"warning DS 16 2 has an unknown algorithm or digest"}},
		"DS of a revoked key": {func(d *Delegation) {
			revoked := *key
			revoked.Flags |= dns.REVOKE
			for i := range d.Servers {
				d.Servers[i].Keys = []*dns.DNSKEY{&revoked}
			}
			d.setDS(revoked.ToDS(dns.SHA256))
		}, slices.Repeat([]string{"error DS no DS record of the parent matches a key"}, 3)},
		"another key with the tag": {func(d *Delegation) {
			for i := range d.Servers {
				d.Servers[i].Keys = []*dns.DNSKEY{twinOf(t, key), key}
			}
		}, nil},
		"too many DS": {func(d *Delegation) {
			d.setDS(manyDS(key)...)
		}, slices.Repeat([]string{"warning DS 65 DS records; only 64 are checked"}, 2)},
		"too many keys": {func(d *Delegation) {
			d.Servers[0].Keys = slices.Repeat([]*dns.DNSKEY{key}, 65)
		}, []string{"warning DS ns1.k.example.com (192.0.2.1) has 65 DNSKEY records; only 64 are checked"}},
		"homeless": {func(d *Delegation) { d.Homeless = []string{"ns.example.net."} }, []string{"error NoAddress ns.example.net"}},
		"server away": {
			func(d *Delegation) { d.Servers[0].Err = down },
			[]string{"error ServerAway ns1.k.example.com (192.0.2.1): no answer"},
		},
		"no route": {
			func(d *Delegation) { d.Servers[2].Err, d.Servers[2].NoRoute = down, true },
			[]string{"warning ServerAway cannot be asked from here"},
		},
		"no TCP":   {func(d *Delegation) { d.Servers[0].TCPErr = down }, []string{"error ServerAway over UDP only"}},
		"refused":  {func(d *Delegation) { d.Servers[0].Rcode, d.Servers[0].SOA = "REFUSED", nil }, []string{"error Lame answers REFUSED"}},
		"resolver": {func(d *Delegation) { d.Servers[0].Authoritative = false }, []string{"error Lame without AA"}},
		"other servers": {
			func(d *Delegation) { d.Servers[0].NS = three },
			[]string{"warning ServerNS ns1.k.example.com, ns2.k.example.com, ns3.k.example.com; here"},
		},
		"serials": {
			func(d *Delegation) { d.Servers[0].Serial = 6 },
			[]string{"warning Serials 6 at ns1.k.example.com (192.0.2.1); 7 at ns2"},
		},
		"one server": {func(d *Delegation) { d.Servers = d.Servers[:1] }, []string{"warning OneServer one address"}},
		"no DS":      {func(d *Delegation) { d.noDS() }, []string{"warning NoDS " + strings.ToUpper(key.ToDS(dns.SHA256).Digest)}},
		"DS unknown": {
			func(d *Delegation) { d.Parents[0].DSErr = down; d.Parents[1].DSErr = down },
			[]string{"warning DS DS: no answer", "warning DS DS: no answer"},
		},
		"DS at one": {
			func(d *Delegation) { d.Parents[0].DS = nil },
			[]string{"warning DS a.example.net has 0 records, all of them together 1"},
		},
		"DS, no keys": {unsign, []string{"error DS no DNSKEY", "error DS no DNSKEY", "error DS no DNSKEY"}},
		"DS of another": {
			func(d *Delegation) { d.setDS(other.ToDS(dns.SHA256)) },
			slices.Repeat([]string{"error DS no DS record of the parent matches a key"}, 3),
		},
		"DS of old keys": {
			func(d *Delegation) { d.setDS(other.ToDS(dns.SHA256), key.ToDS(dns.SHA256)) },
			slices.Repeat([]string{"warning DS it is that of an old"}, 3),
		},
	} {
		d := goodDelegation(t, key)
		c.change(d)
		found := d.Check()
		want := slices.Clone(c.want)
		for _, f := range found {
			line := string(f.Severity) + " " + f.Reason + " "
			i := slices.IndexFunc(want, func(w string) bool {
				return strings.HasPrefix(w, line) && strings.Contains(f.Text, strings.TrimPrefix(w, line))
			})
			if i >= 0 {
				want = slices.Delete(want, i, i+1)
			} else if f.Severity == SeverityError || len(c.want) == 0 {
				t.Errorf("%s: finds %s%s", name, line, f.Text)
			}
			if f.Name != "k.example.com" {
				t.Errorf("%s: it is of %q", name, f.Name)
			}
		}
		if len(want) > 0 || found == nil {
			t.Errorf("%s: lacks %q in %+v", name, want, found)
		}
	}
}

// TestDelegationOfManyKeys: what DS records and keys make us do is bounded, however many there are and all with one tag.
func TestDelegationOfManyKeys(t *testing.T) {
	key := newZoneKey(t)
	d := goodDelegation(t, key)
	all := manyDS(key)
	for i := range d.Parents { // together they have more than one of them may have
		d.Parents[i].DS = all[i*32 : 33+i*32]
	}
	if found := d.Check(); len(found) > 3*mostKeys+8 {
		t.Errorf("%d findings", len(found))
	}
	d.setDS(all...)
	for i := range d.Servers {
		d.Servers[i].Keys = slices.Repeat([]*dns.DNSKEY{key}, 65)
	}
	if n := testing.AllocsPerRun(1, func() { d.Check() }); n > 10_000 { // a key's tag and digest are some
		t.Errorf("%v allocations", n)
	}
}

// manyDS returns one DS record more than are looked at, all with the tag of a key.
func manyDS(key *dns.DNSKEY) (all []*dns.DS) {
	for i := range mostKeys + 1 {
		ds := *key.ToDS(dns.SHA256)
		ds.Digest = fmt.Sprintf("%064x", i)
		all = append(all, &ds)
	}
	return all
}

// twinOf returns another key with the tag of a key: the sum of its octets is the same (RFC 4034, appendix B).
func twinOf(t *testing.T, key *dns.DNSKEY) *dns.DNSKEY {
	t.Helper()
	twin := *key
	public, err := base64.StdEncoding.DecodeString(key.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	for i := 2; i < len(public); i += 2 { // two octets of the same weight change places
		if public[0] != public[i] {
			public[0], public[i] = public[i], public[0]
			break
		}
	}
	twin.PublicKey = base64.StdEncoding.EncodeToString(public)
	if twin.KeyTag() != key.KeyTag() || twin.PublicKey == key.PublicKey {
		t.Fatal("it is no twin")
	}
	return &twin
}

func unsign(d *Delegation) {
	for i := range d.Servers {
		d.Servers[i].Keys = nil
	}
}

func (d *Delegation) noDS() { d.setDS() }

func (d *Delegation) setDS(ds ...*dns.DS) {
	for i := range d.Parents {
		d.Parents[i].DS = ds
	}
}
