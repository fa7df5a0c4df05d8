package records_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records"
	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
	"github.com/coredns-kuadrant/kuadrant/records/recordstest"
)

// publishing are the kinds that publish, as lines of a world: an object of a namespace and an age with data of a type at a name.
var publishing = map[string]func(name, host, at, rtype, data string) string{
	"Record": func(name, host, at, rtype, data string) string {
		return fmt.Sprintf("record %s %s at=%s %s %s", name, host, at, rtype, data)
	},
	"DNSEndpoint": func(name, host, at, rtype, data string) string {
		return fmt.Sprintf("dnsendpoint %s at=%s\n    %s %s '%s'", name, at, host, rtype, data)
	},
	"DNSRecord": func(name, host, at, rtype, data string) string {
		return fmt.Sprintf("dnsrecord %s root=%s served=example.org at=%s\n    %s %s '%s'", name, host, at, host, rtype, data)
	},
	"simple": func(name, host, at, _, data string) string {
		return fmt.Sprintf("gateway %s host=%s addr=%s\npolicy %s at=%s", name, strings.TrimSuffix(host, "."), data, name, at)
	},
	"weightedGeo": func(name, host, at, _, data string) string {
		return fmt.Sprintf("gateway %s host=%s addr=%s\npolicy %s at=%s weight=1", name, strings.TrimSuffix(host, "."), data, name, at)
	},
}

// publisherKind returns the kind of the object that decides for a row of publishing.
func publisherKind(row string) api.Kind {
	switch row {
	case "Record":
		return api.KindRecord
	case "DNSEndpoint":
		return api.KindDNSEndpoint
	case "DNSRecord":
		return api.KindDNSRecord
	}
	return api.KindDNSPolicy
}

// shared is a world in whose zone the namespaces apps and mail may publish: as a Zone object delegates, or as a line `publish` has it.
func shared(t *testing.T, zone bool) *recordstest.World {
	t.Helper()
	if zone {
		return recordstest.New(t, recordstest.Zones("example.org."), "cluster c1", "zone dns/z example.org. delegate=*")
	}
	w := recordstest.New(t, recordstest.Zones("example.org."), "cluster c1")
	w.Options.Publish = []endpoint.Publish{{Domain: "example.org.", Namespaces: []string{"apps", "mail"}}}
	return w
}

// apply applies blocks of lines to a world.
func apply(t *testing.T, w *recordstest.World, blocks ...string) {
	t.Helper()
	for _, block := range blocks {
		if i := strings.Index(block, "\n    "); i >= 0 {
			w.Apply(t, block)
			continue
		}
		w.Apply(t, strings.Split(block, "\n")...)
	}
}

// isServed reports whether an object is served, and what it is told.
func isServed(s *records.Snapshot, kind api.Kind, name string) (served bool, why string) {
	v := s.Verdict("c1", api.Ref{Kind: kind, Name: name})
	if v == nil {
		return false, "no verdict"
	}
	_, why = v.Problem()
	return v.TotalRecords > 0, why
}

// TestWildcardsOwn has a wildcard of one namespace, of each kind, and data of another namespace at names that it covers, of each kind and at
// either age, with a Zone and with `publish`, without a registry and with one (rules 5.3 and 5.9).
func TestWildcardsOwn(t *testing.T) {
	const never, ifBefore, always = 0, 1, 2
	names := []struct {
		host, rtype, data string
		served            int
	}{
		{"app.w.example.org.", "TXT", "t", ifBefore},
		{"a.b.w.example.org.", "MX", "10 mx.example.net.", ifBefore},
		{"app.w.example.org.", "A", "192.0.2.2", always},
		{"a.b.w.example.org.", "CNAME", "mail.example.net.", always},
		{"_acme-challenge.app.w.example.org.", "TXT", "t", never},
		{"_acme-challenge.app.w.example.org.", "CNAME", "acme.example.net.", never},
		{"_acme-challenge.x.y.w.example.org.", "TXT", "t", never},
		{"s1._domainkey.app.w.example.org.", "TXT", "t", ifBefore},
		{"_x.app.w.example.org.", "CNAME", "x.example.net.", ifBefore},
	}
	for owner, wildcard := range publishing {
		for other, data := range publishing {
			for _, zone := range []bool{true, false} {
				for _, before := range []bool{true, false} {
					for _, n := range names {
						if policy := publisherKind(other) == api.KindDNSPolicy; policy && n.rtype != "A" {
							continue
						}
						at := map[bool]string{true: "1h", false: "3h"}[before]
						what := fmt.Sprintf("%s owns *.w, %s has %s %s, zone %v, before %v", owner, other, n.host, n.rtype, zone, before)
						w := shared(t, zone)
						apply(t, w, wildcard("apps/wild", "*.w.example.org.", "2h", "A", "192.0.2.1"), data("mail/x", n.host, at, n.rtype, n.data))
						want := n.served == always || n.served == ifBefore && before
						for _, step := range []string{"by age", "by the registry"} {
							served, why := isServed(w.Step(t), publisherKind(other), "mail/x")
							if served != want || !want && !strings.Contains(why, "*.w.example.org") {
								t.Fatalf("%s: %s it is served: %v, and told %q", what, step, served, why)
							}
							if on, why := isServed(w.Snapshot, publisherKind(owner), "apps/wild"); !on {
								t.Fatalf("%s: %s the wildcard is not served: %s", what, step, why)
							}
							w.Register()
						}
						apply(t, w, fmt.Sprintf("delete %s apps/wild", map[bool]string{true: "policy", false: strings.ToLower(owner)}[publisherKind(owner) == api.KindDNSPolicy]))
						if served, _ := isServed(w.Step(t), publisherKind(other), "mail/x"); served != want {
							t.Fatalf("%s: it is served while the wildcard is kept: %v", what, served)
						}
						w.Register() // the line goes
						if served, why := isServed(w.Step(t), publisherKind(other), "mail/x"); !served {
							t.Fatalf("%s: without the wildcard it is told %q", what, why)
						}
					}
				}
			}
		}
	}
}

// TestOwnersThatChangeAtWildcards: whatever makes a name no longer covered by a wildcard, or covered again, is seen below it, and an edit of a
// wildcard's data has nothing below it made anew.
func TestOwnersThatChangeAtWildcards(t *testing.T) {
	w := shared(t, true)
	apply(t, w, "record mail/t app.w.example.org. at=1h TXT t", "record apps/w *.w.example.org. at=2h A 192.0.2.1", "record third/t b.app.w.example.org. at=3h TXT t")
	for _, step := range []struct {
		change string
		served bool
	}{{"", false}, {"record mail/a app.w.example.org. at=3h A 192.0.2.2", true}, {"delete record mail/a", false}, {"delete record apps/w", true}} {
		apply(t, w, step.change)
		if served, why := isServed(w.Step(t), api.KindRecord, "third/t"); served != step.served {
			t.Errorf("after %q it is served: %v, and told %q", step.change, served, why)
		}
	}
	cost := func(n int) uint64 {
		w := open(t, "record apps/w *.example.com. at=2h TXT before", lines(n, "record mail/r%d x%d.example.com. at=1h TXT t"))
		advance(w)
		w.Apply(t, "record apps/w *.example.com. at=2h TXT after")
		mallocs, _ := advance(w)
		return mallocs
	}
	if few, many := cost(100), cost(1000); many > 2*few {
		t.Errorf("another text over 100 names takes %d allocations, over 1000 %d", few, many)
	}
}

// TestAdministratorsAreNotJoined has data of the administering namespace and of another one, of each kind and either age, at one name: nobody
// joins a type that the first has there (rule 5.3).
func TestAdministratorsAreNotJoined(t *testing.T) {
	for other, data := range publishing {
		if publisherKind(other) == api.KindDNSPolicy {
			continue
		}
		for own, admin := range publishing {
			if publisherKind(own) == api.KindDNSPolicy {
				continue
			}
			for _, at := range []string{"1h", "3h"} {
				for _, host := range []string{"corp.example.org.", "_dmarc.example.org."} {
					w := shared(t, true)
					apply(t, w, admin("dns/mx", host, "2h", "MX", "10 mail.good.example."), data("mail/mx", host, at, "MX", "0 mail.evil.example."),
						data("mail/txt", host, at, "TXT", "t"))
					for range 2 {
						s := w.Step(t)
						if on, why := isServed(s, publisherKind(other), "mail/mx"); on || !strings.Contains(why, "administering") {
							t.Fatalf("%s of another namespace at=%s beside %s at %s: served %v, told %q", other, at, own, host, on, why)
						}
						if on, why := isServed(s, publisherKind(own), "dns/mx"); !on || !strings.Contains(why, "mail/mx") {
							t.Fatalf("%s beside %s at=%s: served %v, told %q", own, other, at, on, why)
						}
						if on, why := isServed(s, publisherKind(other), "mail/txt"); !on {
							t.Fatalf("%s: another type is told %q", other, why)
						}
						w.Register()
					}
				}
			}
		}
	}
}

// TestDelegationsAreOne has NS records of one namespace, and data at the cut and below it of another one, of each kind and either age: glue and
// DS records belong to the delegation (rule 5.1).
func TestDelegationsAreOne(t *testing.T) {
	for other, data := range publishing {
		for _, at := range []string{"1h", "3h"} {
			for _, n := range [][3]string{{"ns.own.example.org.", "A", "192.0.2.66"}, {"own.example.org.", "DS", "1 13 2 " + strings.Repeat("ab", 32)}, {"x.y.own.example.org.", "TXT", "t"}} {
				if publisherKind(other) == api.KindDNSPolicy && n[1] != "A" {
					continue
				}
				w := recordstest.New(t, recordstest.Zones("example.org."), "cluster c1", "zone dns/z example.org. delegate=* delegate=apps/*/NS")
				apply(t, w, data("mail/x", n[0], at, n[1], n[2]))
				if on, why := isServed(w.Step(t), publisherKind(other), "mail/x"); !on {
					t.Fatalf("%s %v without a delegation is told %q", other, n, why)
				}
				w.Register()
				apply(t, w, "record apps/ns own.example.org. at=2h NS ns.own.example.org.", "record apps/glue ns.own.example.org. at=2h A 192.0.2.1")
				for range 2 {
					s := w.Step(t)
					if on, why := isServed(s, publisherKind(other), "mail/x"); on || !strings.Contains(why, "delegated by the NS records") {
						t.Fatalf("%s %v at=%s: served %v, told %q", other, n, at, on, why)
					}
					for _, name := range []string{"apps/ns", "apps/glue"} {
						if on, why := isServed(s, api.KindRecord, name); !on {
							t.Fatalf("%s %v at=%s: %s is told %q", other, n, at, name, why)
						}
					}
					w.Register()
				}
				apply(t, w, "delete record apps/ns", "delete record apps/glue")
				w.Step(t)
				w.Register()
				if on, why := isServed(w.Step(t), publisherKind(other), "mail/x"); !on {
					t.Fatalf("%s %v after the delegation is told %q", other, n, why)
				}
			}
		}
	}
}
