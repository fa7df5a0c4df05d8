package records_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/coredns-kuadrant/kuadrant/records/recordstest"
)

// TestTransferOfSteeredNames is rule 7.5 case by case: members of the host h are ADDRESSES and more words of the policy, and want is what
// a transfer has there, whatever checks find.
func TestTransferOfSteeredNames(t *testing.T) {
	const one, both, txt = "60 A 192.0.2.1", "60 A 192.0.2.1, 60 A 192.0.2.2", "record n/txt h.example.com. ttl=5 TXT x"
	for _, c := range []struct{ what, host, members, more, want string }{
		{"weights and geographies", "", "192.0.2.2,2001:db8::1 weight=1 geo=IE; 192.0.2.1 weight=100 geo=US", "", both + ", 60 AAAA 2001:db8::1"},
		{"one address twice", "", "192.0.2.1 weight=1 geo=IE; 192.0.2.1 weight=1 geo=US", "", one},
		{"no weight", "", "192.0.2.1 weight=0; 192.0.2.2 weight=1", "", "60 A 192.0.2.2"},
		{"no weight anywhere", "", "192.0.2.1 weight=0; 192.0.2.2 weight=0", "", both},
		{"a family that only a drained member has", "", "2001:db8::1 weight=0; 192.0.2.2 weight=1", "", "60 A 192.0.2.2"},
		{"a family that only one forced down has", "", "2001:db8::1 weight=1 override=down; 192.0.2.2 weight=1", "", "60 A 192.0.2.2"},
		{"simple, a family that is forced down", "", "2001:db8::1,192.0.2.2 check=HTTP:80/up", "overrides target 2001:db8::1 down", "60 A 192.0.2.2"},
		{"drained by a word", "", "192.0.2.1 weight=1 override=drain; 192.0.2.2 weight=1", "", "60 A 192.0.2.2"},
		{"forced down", "", "192.0.2.1 weight=1 override=down; 192.0.2.2 weight=1", "", "60 A 192.0.2.2"},
		{"forced down, and drained", "", "192.0.2.1 weight=1 override=down; 192.0.2.2 weight=0", "", "60 A 192.0.2.2"},
		{"all forced down", "", "192.0.2.1 weight=1 override=down; 192.0.2.2 weight=1 override=down", "", both},
		{"a target forced down", "", "192.0.2.1,192.0.2.3 weight=1; 192.0.2.2 weight=1 check=HTTP:80/up", "overrides target 192.0.2.1 down", "60 A 192.0.2.2, 60 A 192.0.2.3"},
		{"checked", "", "192.0.2.1 weight=1 check=HTTP:80/up; 192.0.2.2 weight=1 check=HTTP:80/up", "", both},
		{"hostnames only", "", "b.example.net weight=1; a.example.net weight=1", "", "60 CNAME b.example.net."},
		{"hostnames, the first drained", "", "b.example.net weight=0; a.example.net weight=1", "", "60 CNAME a.example.net."},
		{"hostnames, the first forced down", "", "b.example.net weight=1 override=down; a.example.net weight=1", "", "60 CNAME a.example.net."},
		{"hostname and address", "", "b.example.net weight=1; 192.0.2.1 weight=1", "", one},
		{"hostname and drained address", "", "b.example.net weight=1; 192.0.2.1 weight=0", "", "60 CNAME b.example.net."},
		{"hostname beside other data", "", "b.example.com weight=1", txt, "60 CNAME b.example.com."},
		{"hostname and drained address beside other data", "", "b.example.com weight=1; 192.0.2.1 weight=0", txt, "60 CNAME b.example.com."},
		{"addresses beside other data", "", "192.0.2.1 weight=1", txt, `5 TXT "x", ` + one},
		{"wildcard", "*.h.example.com", "192.0.2.1 weight=1", "", one},
		{"apex", "example.com", "192.0.2.1 weight=1", "", "3600 NS ns.example.net., " + one},
		{"hostname at an apex", "example.com", "b.example.com weight=1", "", "3600 NS ns.example.net."},
		{"no address", "", "nonsense! weight=1", "", ""},
		{"simple", "", "192.0.2.2,192.0.2.1,2001:db8::1", "", both + ", 60 AAAA 2001:db8::1"},
		{"simple, checked", "", "192.0.2.2,2001:db8::2,2001:db8::1 check=HTTP:80/up", "", "60 A 192.0.2.2, 60 AAAA 2001:db8::1, 60 AAAA 2001:db8::2"},
		{"simple, all forced down", "", "192.0.2.2 override=down", "", "60 A 192.0.2.2"},
		{"simple, hostnames", "", "b.example.net,a.example.net", "", "60 CNAME b.example.net."},
		{"simple, a checked hostname", "", "b.example.net check=HTTP:80/up", "", "60 CNAME b.example.net."},
		{"simple hostname beside other data", "", "b.example.com", txt, "60 CNAME b.example.com."},
		{"a cluster drained", "", "192.0.2.1 weight=1", "cluster c2\ngateway n/g0 host=h.example.com addr=192.0.2.2\npolicy n/g0 weight=1\noverrides cluster c2 drain", one},
		{"simple, of two clusters, one forced down", "", "192.0.2.1", "cluster c2\ngateway n/g0 host=h.example.com addr=192.0.2.2\npolicy n/g0\noverrides cluster c1 down", "60 A 192.0.2.2"},
	} {
		if c.host == "" {
			c.host = "h.example.com"
		}
		text := "zone dns/z example.com. ttl=3600 delegate=*\n"
		for i, m := range strings.Split(c.members, "; ") {
			addresses, words, _ := strings.Cut(m, " ")
			text += fmt.Sprintf("gateway n/g%d host=%s addr=%s\npolicy n/g%d %s\n", i, c.host, addresses, i, words)
		}
		for _, flat := range []string{"", ":flatten"} {
			w := recordstest.New(t, recordstest.Zones("example.com."+flat), text+c.more)
			if strings.Contains(c.more, "record") {
				w.Options.ZoneNamespaces = []string{"dns"}
			}
			for range 2 {
				var got []string
				for line := range strings.Lines(recordstest.Facts(w.Step(t))["transfer example.com."]) {
					if f := strings.Fields(line); f[0] == c.host+"." {
						got = append(got, strings.Join(append([]string{f[1]}, f[3:]...), " "))
					}
				}
				if got := strings.Join(got, ", "); got != c.want {
					t.Errorf("%s%s: transferred: %s\nwant:        %s", c.what, flat, got, c.want)
				}
				w.Apply(t, "find 192.0.2.1 down\nfind 192.0.2.2 down\nfind 2001:db8::1 down\nfind b.example.net down")
			}
		}
	}
}

// TestTransferSerials: what is transferred changes with the serial alone, whatever makes the difference.
func TestTransferSerials(t *testing.T) {
	w := recordstest.New(t, recordstest.Zones("example.com."))
	for i, target := range []string{"192.0.2.1", "192.0.2.2", "b.example.net"} {
		w.Apply(t, fmt.Sprintf("gateway n/g%d host=h.example.com addr=%s\npolicy n/g%d weight=5", i, target, i))
	}
	before := w.Step(t)
	for _, c := range []struct {
		what, text string
		differs    bool
	}{
		{"a weight", "policy n/g0 weight=6", false},
		{"a weight goes", "policy n/g0 weight=0", true},
		{"another word", "policy n/g0 weight=0 override=down", false},
		{"the other one is forced down", "policy n/g1 weight=5 override=down", true},
		{"its target is forced up", "overrides target 192.0.2.2 up", true},
		{"it is not any more", "overrides", true},
		{"other data, which are refused beside a hostname", "record n/txt h.example.com. ttl=5 TXT x", false},
		{"an order of hostnames that matters", "gateway n/g3 host=h.example.com addr=a.example.net\npolicy n/g3 weight=5", false},
	} {
		was := recordstest.Facts(before)["transfer example.com."]
		w.Apply(t, c.text)
		after := w.Step(t) // which compares serials
		if is := recordstest.Facts(after)["transfer example.com."]; (was != is) != c.differs {
			t.Errorf("%s: the content differs: %v\n%v\n%v", c.what, was != is, was, is)
		}
		before = after
	}
}

// TestTransferOfZones: copies from a zone below, names hidden by a cut and wildcards are in it, and nothing else of the zone below, nor
// anything below a DNAME, nor of a zone without name servers (rules 6.6 and 7.5).
func TestTransferOfZones(t *testing.T) {
	w := recordstest.New(t, recordstest.Zones("example.com."), `zone dns/z example.com. ttl=300 delegate=* delegate=dns/*/NS,DNAME
zone dns/sub sub in=z ttl=120 delegate=*
record dns/1 @ in=z NS ns
record dns/2 ns in=z A 192.0.2.53
record dns/3 *.w in=z A 192.0.2.9
record dns/4 @ in=z MX 1 ns
record dns/5 cut in=z NS ns.example.net.
record dns/6 x.cut in=z A 192.0.2.8
record dns/7 d in=z DNAME example.net.
record dns/8 a.d in=z A 192.0.2.7
record dns/9 @ in=sub NS ns1
record dns/10 ns1 in=sub A 192.0.2.10
record dns/11 www in=sub A 192.0.2.11
zone dns/bare bare in=z delegate=*
record dns/12 www in=bare A 192.0.2.12`)
	w.Options.Zones[0].Nameservers = nil
	f := recordstest.Facts(w.Step(t))
	const want = `*.w.example.com. 300 IN A 192.0.2.9
cut.example.com. 300 IN NS ns.example.net.
d.example.com. 300 IN DNAME example.net.
example.com. 300 IN MX 1 ns.example.com.
example.com. 300 IN NS ns.example.com.
ns.example.com. 300 IN A 192.0.2.53
ns1.sub.example.com. 120 IN A 192.0.2.10
sub.example.com. 120 IN NS ns1.sub.example.com.
x.cut.example.com. 300 IN A 192.0.2.8`
	if got := strings.ReplaceAll(f["transfer example.com."], "\t", " "); got != want {
		t.Errorf("example.com:\n%s", got)
	}
	if got := f["transfer sub.example.com."]; strings.Count(got, "\n") != 2 {
		t.Errorf("sub.example.com has %s", got)
	}
}
