package corefile

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coredns/caddy"
	"github.com/coredns/coredns/plugin"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/internal/engine"
	"github.com/coredns-kuadrant/kuadrant/records"
)

func TestParse(t *testing.T) {
	dir := t.TempDir()
	opt := new(engine.Options)
	b, err := Parse(caddy.NewTestController("dns", `kuadrant k.Example.com example.org {
		manifests `+dir+` east
		manifests `+t.TempDir()+` west
		namespaces b a b
		policies env=prod,team in (x, y)
		kinds gateway DNSPolicy dnshealthcheckprobe zone RECORD dnsRecord DNSEndpoint SECRET
		geoip a.mmdb /b.mmdb
		nets nets.txt
		answer flatten
		ttl 30 200
		nameserver NS1.k.example.com 192.0.2.1 ::ffff:192.0.2.2
		nameserver ns.elsewhere.net
		rname my.dns.admin@example.com
		fallthrough k.example.com
	}`), opt)
	// ns1 may lie in only one of the zones.
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(b.Zones, " "); got != "k.example.com. example.org." || !b.ZonesWritten {
		t.Errorf("zones %s", got)
	}
	if !b.Fall.Through("x.k.example.com.") || b.Fall.Through("x.example.org.") {
		t.Errorf("fallthrough %v", b.Fall.Zones)
	}
	want := records.ZoneOptions{
		Origin: "k.example.com.", Flatten: true, TTL: 30, LoadBalancedTTL: 200,
		Rname: `my\.dns\.admin.example.com.`,
		Nameservers: []records.Nameserver{
			{Name: "ns1.k.example.com.", Addresses: []netip.Addr{netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")}},
			{Name: "ns.elsewhere.net."},
		},
	}
	if !reflect.DeepEqual(opt.Zones[0], want) {
		t.Errorf("zone %+v\nwant %+v", opt.Zones[0], want)
	}
	sel := opt.Selection
	if strings.Join(sel.Namespaces, ",") != "a,b" || len(sel.Kinds) != int(api.NumKinds) {
		t.Errorf("selection %+v", sel)
	}
	if sel.Policies.String() != "env=prod,team in (x,y)" {
		t.Errorf("policies %s", sel.Policies)
	}
	if opt.GeoIP[0] != "a.mmdb" || opt.GeoIP[1] != "/b.mmdb" {
		t.Errorf("geoip %v", opt.GeoIP)
	}
}

// TestParseClusters: cluster lines and their blocks.
func TestParseClusters(t *testing.T) {
	opt := new(engine.Options)
	_, err := Parse(caddy.NewTestController("dns", `kuadrant k.example.com {
		cluster west /w.conf admin {
			namespaces shop api
			write-back off
			group blue
		}
		group green
		cluster east.eu /e.conf
		kubeconfig /main.conf
	}`), opt)
	if err != nil {
		t.Fatal(err)
	}
	want := []engine.Cluster{
		{Name: "east.eu", Kubeconfig: engine.Kubeconfig{File: "/e.conf"}},
		{Name: "west", Kubeconfig: engine.Kubeconfig{File: "/w.conf", Context: "admin"}, Pools: api.PoolsIn("api", "shop"), Group: "blue", WriteBackOff: true},
	}
	if !reflect.DeepEqual(opt.Clusters, want) {
		t.Errorf("clusters %+v\nwant %+v", opt.Clusters, want)
	}
	if opt.Kubeconfig.File != "/main.conf" || opt.Group != "green" {
		t.Errorf("kubeconfig %v, group %q", opt.Kubeconfig, opt.Group)
	}
}

// TestSecretsOff: Secrets are not read if nothing needs them.
func TestSecretsOff(t *testing.T) {
	for text, want := range map[string]bool{"": false, "secrets off": true, "probes off": false, "kinds Secret\nsecrets off": true} {
		opt := new(engine.Options)
		if _, err := Parse(caddy.NewTestController("dns", "kuadrant k.example.com {\n"+text+"\n}"), opt); err != nil {
			t.Fatal(err)
		}
		sel := opt.Selection
		if sel.NoSecrets != want {
			t.Errorf("%q: NoSecrets is %v", text, sel.NoSecrets)
		}
		if sel.NoHeaders != (text == "probes off") {
			t.Errorf("%q: NoHeaders is %v", text, sel.NoHeaders)
		}
	}
}

// TestParseErrors: each message says what is wrong and on which line (rule 8.3). The directive is on line 1, its
// block begins on line 2.
func TestParseErrors(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	known := strings.Join(slices.Sorted(maps.Keys(properties)), ", ")
	for _, c := range []struct {
		block string
		line  int
		want  string
	}{
		{"foo bar", 2, `unknown property "foo"; want one of ` + known},
		{"ttl 5\nmanifest x", 3, `unknown property "manifest"; write manifests`},
		{"answer maybe", 2, `answer: want chain or flatten, found "maybe"`},
		{"answer", 2, "answer: want chain or flatten, found nothing"},
		{"ttl", 2, "ttl: want DEFAULT [LOADBALANCED], found nothing"},
		{"ttl -1", 2, `ttl: want seconds from 0 to 2147483647, found "-1"`},
		{"ttl 60 2147483648", 2, `ttl: want seconds from 0 to 2147483647, found "2147483648"`},
		{"ttl 1 2 3", 2, `ttl: want DEFAULT [LOADBALANCED], found "1 2 3"`},
		{"ttl 5\nttl 6", 3, "ttl appears twice in one block"},
		{"nameserver", 2, "nameserver: want NAME [ADDRESS...], found nothing"},
		{"ttl 5\nnameserver ns.example.com\nttl 6", 3, "nameserver: ns.example.com. is in zone \"example.com.\" and has no address; write its addresses after its name"},
		{"nameserver ns.example.com 1.2.3", 2, `nameserver: want an IP address, found "1.2.3"`},
		{"nameserver a..b", 2, `nameserver: want a domain name, found "a..b"`},
		{"nameserver ns.bücher.test 192.0.2.53", 2, `nameserver: "ns.bücher.test" has non-ASCII characters: write ns.xn--bcher-kva.test, its ASCII form (RFC 5891)`},
		{"nameserver 192.0.2.53", 2, `nameserver: want the server's name before its addresses, found "192.0.2.53"`},
		{"nameserver 192.0.2.53. 192.0.2.53", 2, `nameserver: want the server's name before its addresses, found "192.0.2.53."`},
		{"nameserver 2001:db8::53", 2, `nameserver: want the server's name before its addresses, found "2001:db8::53"`},
		{"nameserver n.net\nnameserver n.net.", 3, `nameserver: want each name once, found "n.net."`},
		{"nameserver ns.example.com 0.0.0.0", 2, `nameserver: want an address that resolvers can query, found "0.0.0.0"`},
		{"nameserver ns.example.com 192.0.2.1 ::", 2, `nameserver: want an address that resolvers can query, found "::"`},
		{"nameserver ns.example.com ::ffff:224.0.0.1", 2, `nameserver: want an address that resolvers can query, found "::ffff:224.0.0.1"`},
		{"nameserver ns.example.com ff02::1", 2, `nameserver: want an address that resolvers can query, found "ff02::1"`},
		{"nameserver ns.example.com 255.255.255.255", 2, `nameserver: want an address that resolvers can query, found "255.255.255.255"`},
		{"manifests " + dir + "/none", 2, "manifests: open directory: stat " + dir + "/none: no such file or directory"},
		{"manifests " + file, 2, "manifests: " + file + " is not a directory"},
		{"manifests / ", 2, `manifests: "/" is not a cluster name; write one after the directory`},
		{"manifests " + dir + " m\nmanifests " + dir + " m\nttl 5", 3, `manifests: two directories for cluster "m"; write another cluster name after one of them`},
		{"manifests " + dir + "\nkubeconfig x\nttl 5", 3, "kubeconfig: " + errExclude.Error()},
		{"kubeconfig x\nmanifests " + dir + "\nttl 5", 3, "manifests: " + errExclude.Error()},
		{"manifests " + dir + " {\nttl 5\n}", 3, "manifests: ttl: unknown in a directory; want group"},
		{"manifests " + dir + " {\ngroup a&&b\n}", 3, `manifests: group: "a&&b" is not the name of a group: up to 63 of a-z, A-Z, 0-9, ., _ and -`},
		{"group a b", 2, `group: want GROUP, found "a b"`},
		{"ttl 5\nnets x {\nttl 5\n}", 3, `nets: unexpected "{"; the property takes no block`},
		{"kubeconfig", 2, "kubeconfig: want FILE [CONTEXT], found nothing"},
		{`kubeconfig ""`, 2, `kubeconfig: want FILE [CONTEXT], found ""`},
		{"cluster a", 2, `cluster: want NAME FILE [CONTEXT], found "a"`},
		{"cluster a b c d", 2, `cluster: want NAME FILE [CONTEXT], found "a b c d"`},
		{"cluster local f", 2, `cluster: "local" is the name of the main cluster; choose another one`},
		{"cluster East f", 2, `cluster: want a cluster name (up to 253 of a-z, 0-9, - and .), found "East"`},
		{"cluster a f\ncluster a g", 3, `cluster: two clusters are named "a"; rename one of them`},
		{"cluster a f {\nnamespaces x\nttl 5\n}", 4, "cluster: ttl: unknown in a cluster; want group, namespaces, write-back"},
		{"cluster a f {\nnamespaces X\n}", 3, `cluster: namespaces: want a namespace name (up to 63 of a-z, 0-9 and -), found "X"`},
		{"cluster a f {\nnamespaces\n}", 3, "cluster: namespaces: want NAMESPACE..., found nothing"},
		{"cluster a f {\nwrite-back on\n}", 3, `cluster: write-back: want off, found "on"`},
		{"cluster a f {\nwrite-back off\nwrite-back off\n}", 4, "cluster: write-back appears twice in one cluster"},
		{"cluster a f { write-back off }", 2, `cluster: unexpected "write-back" after {; write it on a line of its own`},
		{"cluster a f {\nnamespaces x {\n}\n}", 3, `cluster: namespaces: unexpected "{"`},
		{"cluster a f {\n} g", 3, `cluster: unexpected "g" after }`},
		{"cluster a f\nmanifests " + dir + "\nttl 5", 3, "manifests: " + errExclude.Error()},
		{"manifests " + dir + "\ncluster a f\nttl 5", 3, "cluster: " + errExclude.Error()},
		{"kinds Gateway Pod", 2, `kinds: unknown kind "Pod"; want one of Gateway, DNSPolicy, DNSHealthCheckProbe, Zone, Record, DNSRecord, DNSEndpoint, Secret`},
		{"guard", 2, "guard: want a DURATION such as 5m, at most 24h, or 0 to turn the guard off, found nothing"},
		{"guard off", 2, `guard: want a DURATION such as 5m, at most 24h, or 0 to turn the guard off, found "off"`},
		{"guard 5", 2, `guard: want a DURATION such as 5m, at most 24h, or 0 to turn the guard off, found "5"`},
		{"guard -1s", 2, `guard: want a DURATION such as 5m, at most 24h, or 0 to turn the guard off, found "-1s"`},
		{"guard 24h1s", 2, `guard: want a DURATION such as 5m, at most 24h, or 0 to turn the guard off, found "24h1s"`},
		{"guard 5m 6m", 2, `guard: want a DURATION such as 5m, at most 24h, or 0 to turn the guard off, found "5m 6m"`},
		{"guard 5m\nguard 5m", 3, "guard appears twice in one block"},
		{"secrets", 2, "secrets: want off, found nothing"},
		{"secrets on", 2, `secrets: want off, found "on"`},
		{"state", 2, "state: want DIR, found nothing"},
		{"state a b", 2, `state: want DIR, found "a b"`},
		{"state a\nstate a\nttl 5", 3, "state appears twice in one block"},
		{"console", 2, "console: want ADDR [TOKENFILE [NAME...]], found nothing"},
		{"console 8090", 2, `console: want ADDR as HOST:PORT, such as localhost:8090, found "8090"`},
		{"console dns.example.net:8090 t", 2, `console: want an IP address or localhost before the port, found "dns.example.net"`},
		{"console :8090", 2, "console: not a loopback address; add a token file, or the console is open to everyone"},
		{"console :8090 t a:b", 2, `console: want a hostname of the console, without a port, found "a:b"`},
		{"console :8090 t\nconsole :8090 t\nttl 5", 3, "console appears twice in one block"},
		{"policies", 2, "policies: want SELECTOR, found nothing"},
		{`policies " "`, 2, "policies: " + errEmptySelector.Error()},
		{"namespaces", 2, "namespaces: want NAMESPACE..., found nothing"},
		{"namespaces shop Shop", 2, `namespaces: want a namespace name (up to 63 of a-z, 0-9 and -), found "Shop"`},
		{"namespaces a,b", 2, `namespaces: want a namespace name (up to 63 of a-z, 0-9 and -), found "a,b"`},
		{"geoip", 2, "geoip: want FILE..., found nothing"},
		{`nets ""`, 2, `nets: want FILE, found ""`},
		{"nets a b", 2, `nets: want FILE, found "a b"`},
		{"rname", 2, "rname: want EMAIL, found nothing"},
		{"rname a@b c@d", 2, `rname: want EMAIL, found "a@b c@d"`},
		{"rname admin@example..com", 2, `rname: want an e-mail address such as admin@example.com, found "admin@example..com"`},
		{`rname "the admin@example.com"`, 2, `rname: want an e-mail address such as admin@example.com, found "the admin@example.com"`},
		{"rname a@b@c", 2, `rname: want an e-mail address such as admin@example.com, found "a@b@c"`},
		{"rname noc@bücher.test", 2, `rname: "bücher.test" has non-ASCII characters: write xn--bcher-kva.test, its ASCII form (RFC 5891)`},
		{"fallthrough k..example", 2, `fallthrough: zone "k..example" is not a domain name`},
		{"fallthrough k.example " + strings.Repeat("a", 64), 2, `fallthrough: zone "` + strings.Repeat("a", 64) + `" is not a domain name`},
	} {
		want := fmt.Sprintf("Testfile:%d - Error during parsing: %s", c.line, c.want)
		_, err := Parse(caddy.NewTestController("dns", "kuadrant example.com {\n"+c.block+"\n}"), new(engine.Options))
		if err == nil || err.Error() != want {
			t.Errorf("%q: %v\nwant %s", c.block, err, want)
		}
	}
	for corefile, want := range map[string]string{
		"kuadrant a..b":                                          `Testfile:1 - Error during parsing: zone "a..b" is not a domain name`,
		"kuadrant bücher.test":                                   `Testfile:1 - Error during parsing: zone "bücher.test." has non-ASCII characters: write xn--bcher-kva.test., its ASCII form (RFC 5891)`,
		"kuadrant a.com *.Example.com":                           `Testfile:1 - Error during parsing: zone "*.Example.com" begins with a wildcard; write "example.com.", which includes all names below it`,
		"kuadrant example.com\nkuadrant a.com":                   "Testfile:2 - Error during parsing: this plugin can only be used once per Server Block",
		"kuadrant example.com {\nttl 5\n}\nkuadrant {\n}":        "Testfile:4 - Error during parsing: this plugin can only be used once per Server Block",
		"kuadrant " + strings.Repeat("a", 64):                    `Testfile:1 - Error during parsing: zone "` + strings.Repeat("a", 64) + `" is not a domain name`,
		"kuadrant example.com {\nttl 5\n{\nttl 6\n}\n}":          `Testfile:3 - Error during parsing: unexpected "{"`,
		"kuadrant example.com {\nttl 5\n} example.org":           `Testfile:3 - Error during parsing: unexpected "example.org"`,
		"\n\nkuadrant example.com {\n\npolicies a in b\n\n\n}\n": "Testfile:5 - Error during parsing: policies: ",
	} {
		_, err := Parse(caddy.NewTestController("dns", corefile), new(engine.Options))
		if err == nil || err.Error() != want && !(strings.HasSuffix(want, ": ") && strings.HasPrefix(err.Error(), want)) {
			t.Errorf("%q: %v\nwant %s", corefile, err, want)
		}
	}
	_, err := Parse(caddy.NewTestController("dns", "kuadrant a.com\nkuadrant b.com"), new(engine.Options))
	if !errors.Is(err, plugin.ErrOnce) {
		t.Errorf("%v is not plugin.ErrOnce", err)
	}
}

// TestParseRname: a malformed address falls back to the zone's hostmaster, as in Kuadrant's plugin, and the block
// warns.
func TestParseRname(t *testing.T) {
	for email, want := range map[string]struct {
		rname string
		warns bool
	}{
		"admin@example.net":         {"admin.example.net.", false},
		`"  admin@example.net "`:    {"admin.example.net.", false},
		"hostmaster@k.example.com":  {"hostmaster.k.example.com.", false},
		"hostmaster@k.example.com.": {"hostmaster.k.example.com.", false},
		`""`:                        {"", true},
		"admin.example.com":         {"", true},
		"@example.com":              {"", true},
		"foo@":                      {"", true},
	} {
		opt := new(engine.Options)
		b, err := Parse(caddy.NewTestController("dns", "kuadrant k.example.com {\nttl 5\nrname "+email+"\n}"), opt)
		if err != nil {
			t.Errorf("%s: %v", email, err)
			continue
		}
		if got := opt.Zones[0].Rname; got != want.rname {
			t.Errorf("%s: %s, want %s", email, got, want.rname)
		}
		if warned := len(b.Warnings) == 1 && strings.HasPrefix(b.Warnings[0], "Testfile:3: rname "); warned != want.warns || !warned && len(b.Warnings) > 0 {
			t.Errorf("%s: warnings %q", email, b.Warnings)
		}
	}
}

// TestParseShared: a process-wide setting appears in one block or is equal in all; a zone's settings are equal in all
// its blocks. The error is at the second block and names the place in the first.
func TestParseShared(t *testing.T) {
	dirA, dirB := t.TempDir(), t.TempDir()
	differs := func(property string, line int) string {
		return fmt.Sprintf("Testfile:2 - Error during parsing: %s: %v; see Testfile:%d", property, errDiffers, line)
	}
	for _, c := range []struct{ first, second, want string }{
		{"namespaces a b", "namespaces b a", ""},
		{"ttl 60\nnamespaces a", "namespaces b\nttl 60", differs("namespaces", 3)},
		{"policies x=1", "policies  x = 1", ""},
		{"policies x=1", "policies x=2", differs("policies", 2)},
		{"geoip a", "geoip b", differs("geoip", 2)},
		{"manifests " + dirA, "", ""},
		{"", "manifests " + dirA, ""},
		{"manifests " + dirA, "manifests " + dirA, ""},
		{"manifests " + dirA, "manifests " + dirB, differs("manifests", 2)},
		{"manifests " + dirA + "\nmanifests " + dirB, "manifests " + dirA + "\nttl 60", differs("manifests", 2)},
		{"manifests " + dirA, "manifests " + dirA + "\nmanifests " + dirB, strings.Replace(differs("manifests", 2), "2", "3", 1)},
		{"manifests " + dirA, "kubeconfig x\nttl 60", "Testfile:2 - Error during parsing: kubeconfig: " + errExclude.Error()},
		{"kubeconfig x", "manifests " + dirA + "\nttl 60", "Testfile:2 - Error during parsing: manifests: " + errExclude.Error()},
		{"kubeconfig x a", "kubeconfig x b", differs("kubeconfig", 2)},
		{"cluster a f\ncluster b f c", "cluster b f c\ncluster a f {\n}", ""},
		{"cluster a f {\nnamespaces x y\n}", "cluster a f {\nnamespaces y x\n}", ""},
		{"", "cluster a f", ""},
		{"cluster a f", "", ""},
		{"cluster a f", "cluster a g", differs("cluster", 2)},
		{"cluster a f", "cluster a f {\nnamespaces x\n}", differs("cluster", 2)},
		{"cluster a f", "cluster a f {\nwrite-back off\n}", differs("cluster", 2)},
		{"cluster a f\ncluster b f", "cluster a f", differs("cluster", 2)},
		{"cluster a f", "cluster a f\ncluster b f", strings.Replace(differs("cluster", 2), "2", "3", 1)},
		{"", "guard 7m", ""},
		{"guard 7m", "guard 7m", ""},
		{"lease dns", "lease dns/kuadrant-dns", ""},
		{"lease dns", "lease dns/other", differs("lease", 2)},
		{"lease dns/other", "lease dns", differs("lease", 2)},
		{"guard 0", "guard 7m\nttl 60", differs("guard", 2)},
		{"ttl 60", "", ""},
		{"ttl 61", "", "Testfile:1 - Error during parsing: zone \"example.com.\" has other settings at Testfile:1; answer, ttl, nameserver and rname must be equal in all blocks of a zone"},
		{"fallthrough", "", ""},
	} {
		opt := new(engine.Options)
		if _, err := Parse(caddy.NewTestController("dns", "kuadrant example.com {\n"+c.first+"\n}"), opt); err != nil {
			t.Fatalf("%q: %v", c.first, err)
		}
		_, err := Parse(caddy.NewTestController("dns", "kuadrant example.com {\n"+c.second+"\n}"), opt)
		if c.want == "" && err != nil || c.want != "" && (err == nil || err.Error() != c.want) {
			t.Errorf("%q, then %q: %v, want %q", c.first, c.second, err, c.want)
		}
	}
}

// TestCheckAddress: off loopback, the console needs a token.
func TestCheckAddress(t *testing.T) {
	for addr, want := range map[string][2]bool{ // without a token, and with one
		"localhost:8090": {true, true}, "127.0.0.1:8090": {true, true}, "127.8.8.8:1": {true, true}, "[::1]:8090": {true, true},
		"[::ffff:127.0.0.1]:80": {true, true},
		":8090":                 {false, true}, "0.0.0.0:8090": {false, true}, "192.0.2.1:80": {false, true}, "[2001:db8::1]:80": {false, true},
		"8090": {}, "localhost": {}, "dns.example.net:80": {}, "localhost:": {}, "": {},
	} {
		for i, token := range []bool{false, true} {
			if err := checkAddress(addr, token); (err == nil) != want[i] {
				t.Errorf("%q with token %v: %v", addr, token, err)
			}
		}
	}
}

func TestWatchNamespaces(t *testing.T) {
	for env, want := range map[string]string{"a, b,,c": "a|b|c", "": ""} {
		t.Setenv(WatchNamespaces, env)
		cfg := new(engine.Options)
		if err := Check(cfg); err != nil || strings.Join(cfg.Selection.Namespaces, "|") != want {
			t.Errorf("%q: namespaces %q, %v", env, cfg.Selection.Namespaces, err)
		}
	}
	t.Setenv(WatchNamespaces, "a,Shop")
	cfg := new(engine.Options)
	cfg.Note(engine.PluginName, "Corefile:3")
	if err := Check(cfg); err == nil ||
		err.Error() != `Corefile:3 - Error during parsing: variable WATCH_NAMESPACES: want a namespace name (up to 63 of a-z, 0-9 and -), found "Shop"` {
		t.Errorf("a wrong namespace: %v", err)
	}
	cfg.Selection.Namespaces = []string{"x"}
	if err := Check(cfg); err != nil || strings.Join(cfg.Selection.Namespaces, "|") != "x" {
		t.Errorf("the Corefile's namespaces: %q, %v", cfg.Selection.Namespaces, err)
	}
}

// FuzzCorefile: no input makes the parser panic, and settings that parse either configure or are refused.
func FuzzCorefile(f *testing.F) {
	f.Add("kuadrant example.com {\nttl 5 6\nanswer flatten\nnameserver ns.x.net 192.0.2.1\n}")
	f.Add("kuadrant . {\nfallthrough a b\npolicies a in (b)\nkinds Gateway\n}")
	f.Add("kuadrant 10.0.0.0/20 {\nrname a@b\n}")
	f.Add("kuadrant a {\ncluster b c d {\nnamespaces e f\nwrite-back off\n}\ncluster g h {\n}\ncluster i j\n}")
	f.Add("kuadrant a\\.b *.c {\nnameserver \\000.x ::\n}")
	f.Fuzz(func(t *testing.T, text string) {
		opt := new(engine.Options)
		b, err := Parse(caddy.NewTestController("dns", text), opt)
		if err != nil {
			return
		}
		if len(b.Zones) == 0 && len(opt.Zones) > 0 {
			t.Errorf("%q: zones without a block", text)
		}
		snap := records.Compile(nil, api.Objects{}, &records.Options{Zones: opt.Zones}, time.Now())
		for _, z := range snap.Zones() {
			q := records.Query{Name: z.Origin(), Owner: z.Origin(), Type: 6}
			var a records.Answer
			if snap.Lookup(z, &q, &a); len(a.Answer) != 1 {
				t.Errorf("%q: zone %q answers %v for its SOA", text, z.Origin(), a)
			}
		}
	})
}
