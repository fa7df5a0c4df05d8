package kuadrant

import (
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// loadedZones is what the clients of TestZonesChangeUnderLoad share.
type loadedZones struct {
	*zoneServer
	done atomic.Bool
}

// TestZonesChangeUnderLoad changes Records, and lets a sub-zone come and go, while clients ask
// over UDP and TCP and take transfers of both zones. Every answer is that of one generation
// (rules 6.7, 7.1, 7.4), and no client sees a serial go back.
func TestZonesChangeUnderLoad(t *testing.T) {
	const versions, rounds = 300, 60
	l := &loadedZones{zoneServer: serveZones(t, toAll, "")}
	l.Fill()
	l.Record("sub-www", "www.sub.example.org.", "A", "192.0.2.11")
	l.version(0)

	var clients sync.WaitGroup
	var asked [4]atomic.Int64
	for i, round := range []func(*testing.T, *uint32) bool{l.asker("udp"), l.asker("tcp"), l.copyWhole, l.copyChanges} {
		clients.Go(func() {
			serial := uint32(0)
			for !l.done.Load() && round(t, &serial) {
				asked[i].Add(1)
			}
		})
	}
	enough := func() bool {
		for i := range asked {
			if asked[i].Load() < rounds {
				return false
			}
		}
		return true
	}
	for v := 1; v < versions || !enough(); v++ {
		if l.version(v); t.Failed() {
			break
		}
	}
	l.done.Store(true)
	clients.Wait()
}

// version publishes one version: two addresses at one name that belong together, and the
// sub-zone in every second one.
func (l *loadedZones) version(v int) {
	for i := range 2 {
		l.Record(fmt.Sprint("pair-", i), "pair.example.org.", "A", fmt.Sprintf("10.%d.%d.%d", v>>8&255, v&255, i))
	}
	if v%2 == 0 {
		l.Zone("sub.example.org.")
	} else {
		const name = "dns/sub-example-org-"
		edit := l.Cluster.Zones.Edit()
		edit.Delete(name)
		l.Cluster.Zones = edit.Map()
		l.Changed[api.Ref{Kind: api.KindZone, Name: name}] = true
	}
	l.compile()
}

// pairFault says what is wrong with the addresses of pair.example.org among rrs, "" for nothing.
func pairFault(rrs []dns.RR) string {
	var versions []string
	for _, rr := range rrs {
		if a, ok := rr.(*dns.A); ok && a.Hdr.Name == "pair.example.org." {
			versions = append(versions, a.A.Mask(net.CIDRMask(24, 32)).String())
		}
	}
	if len(versions) != 2 || versions[0] != versions[1] {
		return fmt.Sprintf("the pair has the versions %q", versions)
	}
	return ""
}

// forward says where a serial goes back from the last that the client saw (RFC 1982), "" where
// it does not.
func forward(last *uint32, now uint32) string {
	if before := *last; before != 0 && int32(now-before) < 0 {
		return fmt.Sprintf("serial %d after %d", now, before)
	}
	*last = now
	return ""
}

// asker returns a client that asks for each kind of name once.
func (l *loadedZones) asker(network string) func(*testing.T, *uint32) bool {
	client := &dns.Client{Net: network}
	return func(t *testing.T, serial *uint32) bool {
		for name, check := range map[string]func(*dns.Msg) string{
			"pair.example.org.": func(m *dns.Msg) string { return pairFault(m.Answer) },
			"www.sub.example.org.": func(m *dns.Msg) string { // in whichever zone
				if firstA(m) != "192.0.2.11" {
					return "not its address"
				}
				return ""
			},
			"no.example.org.": func(m *dns.Msg) string {
				if m.Rcode != dns.RcodeNameError || len(m.Ns) != 1 {
					return "no name error"
				}
				return forward(serial, m.Ns[0].(*dns.SOA).Serial)
			},
		} {
			m, _, err := client.Exchange(question(name, dns.TypeA), l.addr)
			if err != nil {
				t.Error(err)
				return false
			}
			if fault := check(m); fault != "" || !m.Authoritative {
				t.Errorf("%s over %s: %s\n%v", name, network, fault, m)
				return false
			}
		}
		return true
	}
}

// transfer returns what a transfer brings; refused tells that there is no such zone just now.
func (l *loadedZones) transfer(q *dns.Msg) (rrs []dns.RR, refused bool, err error) {
	answers, err := new(dns.Transfer).In(q, l.addr)
	if err != nil {
		return nil, false, err
	}
	for a := range answers {
		if a.Error != nil && err == nil {
			err = a.Error
		}
		rrs = append(rrs, a.RR...)
	}
	if err != nil && strings.Contains(err.Error(), "rcode: 5") {
		return nil, true, nil
	}
	return rrs, false, err
}

// copyWhole takes a whole copy of both zones.
func (l *loadedZones) copyWhole(t *testing.T, serial *uint32) bool {
	for _, zone := range []string{"example.org.", "sub.example.org."} {
		rrs, refused, err := l.transfer(axfrOf(zone))
		if refused && zone != "example.org." {
			continue
		}
		if err != nil || len(rrs) < 3 || rrs[0].String() != rrs[len(rrs)-1].String() {
			t.Errorf("AXFR of %s: %v, %v", zone, err, rrs)
			return false
		}
		if zone != "example.org." {
			continue
		}
		if fault := pairFault(rrs) + forward(serial, rrs[0].(*dns.SOA).Serial); fault != "" {
			t.Errorf("AXFR: %s\n%v", fault, rrs)
			return false
		}
	}
	return true
}

// copyChanges asks for what has changed since the serial that it had last.
func (l *loadedZones) copyChanges(t *testing.T, serial *uint32) bool {
	rrs, _, err := l.transfer(ixfrOf("example.org.", *serial))
	if err != nil || len(rrs) == 0 {
		t.Errorf("IXFR from %d: %v, %d records", *serial, err, len(rrs))
		return false
	}
	soa, ok := rrs[0].(*dns.SOA)
	if !ok {
		t.Errorf("IXFR from %d begins with %s", *serial, rrs[0])
		return false
	}
	last, ok := rrs[len(rrs)-1].(*dns.SOA)
	if fault := forward(serial, soa.Serial); fault != "" || !ok || last.Serial != soa.Serial {
		t.Errorf("IXFR to %d: %s; the last record is %s", soa.Serial, fault, rrs[len(rrs)-1])
		return false
	}
	return true
}
