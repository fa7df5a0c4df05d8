package records_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/coredns-kuadrant/kuadrant/records"
	"github.com/coredns-kuadrant/kuadrant/records/recordstest"
)

// TestLegitimateSetUps: what a platform team and its tenants make in good faith is served, and nobody is told otherwise, in whichever
// order of age, in the registry or not (rules 5.1 to 6.5).
func TestLegitimateSetUps(t *testing.T) {
	const platform = "zone dns/z example.org. spec.delegations=[" +
		"{namespaces: [dns], zones: ['*'], records: [{pattern: '*'}, {pattern: '@'}]}, " +
		"{namespaces: [shop], zones: [shop, '*.shop'], records: [{pattern: shop}, {pattern: '*.shop'}]}, " +
		"{namespaces: [apps], records: [{pattern: '*.apps'}]}]"
	for name, c := range map[string]struct{ objects, asks string }{
		"tenant's sub-zone with hosts and records": {`
record dns/ns @ in=z NS ns.example.net.
zone shop/z shop in=dns/z delegate=shop
record shop/ns @ in=z NS ns
record shop/nsa ns in=z A 192.0.2.53
gateway shop/web host=www.shop.example.org addr=192.0.2.1
policy shop/web weight=1
record shop/mx www in=z MX 10 mx.example.net.
record shop/txt www in=z TXT "v=spf1"`, `
www.shop.example.org A 192.0.2.1
www.shop.example.org MX mx.example.net.
www.shop.example.org TXT v=spf1
shop.example.org NS ns.shop
ns.shop.example.org A 192.0.2.53`},
		"sub-zone of a sub-zone, and a zone between of one's own": {`
zone shop/deep a.b.shop.example.org. delegate=shop
zone shop/mid shop.example.org. delegate=shop
record shop/a x in=deep A 192.0.2.2
gateway shop/web host=www.shop.example.org addr=192.0.2.1
policy shop/web`, `
x.a.b.shop.example.org A 192.0.2.2
www.shop.example.org A 192.0.2.1`},
		"outside delegation by NS, DNAME, and glue": {`
record dns/cut partner in=z NS ns.partner
record dns/cut2 partner in=z NS ns2.example.net.
record dns/glue ns.partner in=z A 192.0.2.54
record dns/dn old in=z DNAME apps.example.org.
record dns/ds partner in=z DS 1 8 2 00000000000000000000000000000000000000000000000000000000000000ff
record dns/oldtxt old in=z TXT "moved"
record dns/olda old in=z A 192.0.2.9
gateway apps/web host=www.apps.example.org addr=192.0.2.1
policy apps/web`, `
x.partner.example.org A 192.0.2.54
partner.example.org DS 8 2
www.old.example.org A 192.0.2.1
old.example.org TXT moved
old.example.org A 192.0.2.9`},
		"DNAME beside a host at one name, of the platform": {`
record dns/dn old in=z DNAME apps.example.org.
record dns/mx old in=z MX 10 mx.example.net.
gateway dns/web host=old.example.org addr=192.0.2.7
policy dns/web
gateway apps/web host=www.apps.example.org addr=192.0.2.1
policy apps/web`, `
www.old.example.org A 192.0.2.1
old.example.org MX mx.example.net.
old.example.org A 192.0.2.7`},
		"weightedGeo host beside TXT and MX of external-dns in one namespace": {`
gateway apps/web host=www.apps.example.org addr=192.0.2.1
policy apps/web weight=1
dnsendpoint apps/more
    www.apps.example.org TXT v=spf1
    www.apps.example.org MX '10 mx.example.net.'`, `
www.apps.example.org A 192.0.2.1
www.apps.example.org TXT v=spf1
www.apps.example.org MX mx.example.net.`},
		"cut in a tenant's zone": {`
zone shop/z shop in=dns/z delegate=shop
record shop/cut lab in=z NS ns.example.net.
record shop/dn legacy in=z DNAME shop.example.org.
gateway shop/web host=www.shop.example.org addr=192.0.2.1
policy shop/web weight=1
gateway shop/wild host=*.shop.example.org addr=192.0.2.3
policy shop/wild weight=1`, `
x.lab.shop.example.org A auth lab.shop
www.legacy.shop.example.org A 192.0.2.1
www.shop.example.org A 192.0.2.1
any.shop.example.org A 192.0.2.3`},
		"acme challenge below a host, by delegation": {`
gateway apps/web host=www.apps.example.org addr=192.0.2.1
policy apps/web weight=1
record dns/acme _acme-challenge.www.apps in=z CNAME x.acme.example.net.
record dns/cutacme _acme-challenge.apps in=z NS ns.acme.example.net.`, `
www.apps.example.org A 192.0.2.1
_acme-challenge.www.apps.example.org CNAME x.acme
x._acme-challenge.apps.example.org TXT auth _acme-challenge.apps`},
	} {
		lines := strings.Split(strings.ReplaceAll(platform+c.objects, "\n    ", "\t"), "\n")
		for turn := range len(lines) {
			for _, way := range []int{1, -1} {
				w := recordstest.New(t, recordstest.Zones("example.org."))
				w.Options.ZoneNamespaces = []string{"dns"}
				for i, line := range lines {
					age := ((way*(i+turn))%len(lines) + len(lines)) % len(lines)
					w.Apply(t, aged(strings.ReplaceAll(line, "\t", "\n    "), fmt.Sprintf("%dh", age)))
				}
				for range 2 {
					w.Snapshot = records.Compile(w.Snapshot, w.Objects(), w.Options, w.Now)
					for ask := range strings.SplitSeq(strings.TrimSpace(c.asks), "\n") {
						f := strings.SplitN(ask, " ", 3)
						if got := w.Ask(t, f[0]+" "+f[1]); !strings.Contains(got, f[2]) {
							t.Fatalf("%s, turn %d way %d: %s: got %s\n%+v", name, turn, way, ask, got, slices.Collect(w.Snapshot.Troubles()))
						}
					}
					for trouble := range w.Snapshot.Troubles() {
						if trouble.Reason != "Ready=False (NoNameservers)" {
							t.Fatalf("%s, turn %d way %d: somebody is told %+v", name, turn, way, trouble)
						}
					}
					w.Register()
				}
			}
		}
	}
}
