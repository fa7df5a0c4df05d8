package dnssec

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/internal/boottest"

	"github.com/coredns-kuadrant/kuadrant/internal/peertest"
)

// TestDNSSECSizes: whatever size a client accepts, additional records that do not fit with their
// signatures are left out, without TC (rule 7.3).
func TestDNSSECSizes(t *testing.T) {
	_, file := boottest.NewKey(t, t.TempDir(), "example.com.", 257)
	var servers strings.Builder
	for i := range 4 {
		fmt.Fprintf(&servers, "nameserver nameserver-number-%d.example.com 192.0.2.%d 2001:db8::%d\n", i, i+1, i+1)
	}
	addr := fmt.Sprintf("127.0.0.1:%d", peertest.FreePort(t))
	boottest.Serve(t, fmt.Sprintf("example.com:%s {\nbind 127.0.0.1\ndnssec {\nkey file %s\n}\nkuadrant {\nmanifests %s\n%s}\n}\n", addr[len("127.0.0.1:"):], file, t.TempDir(), servers.String()))
	boottest.WaitFor(t, "snapshot", func() bool { return len(boottest.Exchange(t, addr, "example.com.", dns.TypeNS).Answer) == 4 })
	var last [2]int // without a client subnet, and with one
	needed := 0
	for size := uint16(512); size < 2000; size += 11 {
		m := boottest.Question("example.com.", dns.TypeNS)
		if size%2 == 0 {
			m.SetEdns0(size, true)
		} else {
			boottest.WithSubnet(m, 1, "10.0.0.0", 24, 0)
			m.IsEdns0().SetUDPSize(size)
			m.IsEdns0().SetDo()
		}
		reply, _, err := boottest.Client("").Exchange(m, addr)
		if err != nil {
			t.Fatal(err)
		}
		reply.Compress = true
		if reply.Truncated || len(reply.Answer) != 5 || reply.Len() > int(size) {
			t.Fatalf("size %d: TC %v, %d answers, %d octets", size, reply.Truncated, len(reply.Answer), reply.Len())
		}
		sets, signatures := rrsetsOf(reply.Extra)
		if len(sets) != len(signatures) {
			t.Errorf("size %d: %d RRsets with %d signatures", size, len(sets), len(signatures))
		}
		if n := &last[size%2]; len(sets) < *n {
			t.Errorf("size %d: %d RRsets, for less room there were %d", size, len(sets), *n)
		} else {
			*n = len(sets)
		}
		needed = max(needed, reply.Len())
	}
	if last != [2]int{8, 8} || needed < 1000 {
		t.Errorf("%d additional RRsets where all fit, in %d octets", last, needed)
	}
}

// TestDNSSECZones: the zones listed in dnssec are signed, and settings that cannot work are logged.
func TestDNSSECZones(t *testing.T) {
	_, file := boottest.NewKey(t, t.TempDir(), "example.com.", 257)
	for _, c := range []struct {
		name, block, lists, zones string
		ask                       string
		signer                    string // of the denial
		warning                   string
	}{
		{"block", "example.com", "", "", "no.example.com.", "example.com.", ""},
		{"part", "example.com", "", "k.example.com", "no.k.example.com.", "example.com.", ""},
		{"missing", "example.com", "", "example.com k.example.com", "no.k.example.com.", "", "dnssec does not list zone \"k.example.com.\"; "},
		{"both", "example.com", "example.com k.example.com", "example.com k.example.com", "no.k.example.com.", "k.example.com.", "dnssec lists \"example.com.\" and \"k.example.com.\", which is below it; "},
		{"other", "example.org example.com", "example.com", "", "no.example.org.", "", "dnssec does not list zone \"example.org.\"; "},
		{"below", "example.com", "k.example.com", "", "no.k.example.com.", "", "dnssec does not list zone \"example.com.\"; "},
		{"root", ".", "example.com", "example.com", "no.example.com.", "example.com.", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			log := boottest.Listen(t)
			port := fmt.Sprint(peertest.FreePort(t))
			addr := "127.0.0.1:" + port
			keys := strings.Join(strings.Fields(c.block), ":"+port+" ") + ":" + port
			key := "key file " + file
			if !strings.Contains(c.block+c.lists, "example.com") || c.lists == "k.example.com" {
				_, other := boottest.NewKey(t, t.TempDir(), "k.example.com.", 257)
				key = "key file " + other
			}
			boottest.Serve(t, fmt.Sprintf("%s {\nbind 127.0.0.1\ndnssec %s {\n%s\n}\nkuadrant %s {\nmanifests %s\n}\n}\n", keys, c.lists, key, c.zones, t.TempDir()))
			boottest.WaitFor(t, "snapshot", func() bool { return boottest.Exchange(t, addr, c.ask, dns.TypeA).Rcode == dns.RcodeNameError })
			m := boottest.Question(c.ask, dns.TypeA)
			m.SetEdns0(1232, true)
			reply, _, err := boottest.Client("").Exchange(m, addr)
			if err != nil {
				t.Fatal(err)
			}
			signers := make(map[string]bool)
			for _, rr := range reply.Ns {
				if s, ok := rr.(*dns.RRSIG); ok {
					signers[s.SignerName] = true
				}
			}
			if len(signers) > 1 || signers[c.signer] != (c.signer != "") {
				t.Errorf("signed by %v, want %s:\n%v", signers, c.signer, reply)
			}
			warned := slices.DeleteFunc(log.All(), func(line string) bool { return !strings.Contains(line, "dnssec") })
			if c.warning == "" && len(warned) > 0 || c.warning != "" && (len(warned) != 1 || !strings.Contains(warned[0], "warning Corefile:6: "+c.warning)) {
				t.Errorf("the log says %q, want %q", warned, c.warning)
			}
		})
	}
}
