package kuadrant

import (
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/coredns/caddy"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records"
)

func TestParse(t *testing.T) {
	dir := t.TempDir()
	inst := newInstance()
	b, err := parse(caddy.NewTestController("dns", `kuadrant k.Example.com example.org {
		manifests `+dir+` east
		manifests `+t.TempDir()+` west
		namespaces b a b
		policies env=prod,team in (x, y)
		kinds gateway DNSPolicy
		geoip a.mmdb /b.mmdb
		nets nets.txt
		answer flatten
		ttl 30 200
		nameserver NS1.k.example.com 192.0.2.1 ::ffff:192.0.2.2
		nameserver ns.elsewhere.net
		rname my.dns.admin@example.com
		fallthrough k.example.com
	}`), inst.config)
	// ns1 lies in one of the zones only, and that is fine.
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(b.zones, " "); got != "k.example.com. example.org." || !b.zonesWritten {
		t.Errorf("zones %s", got)
	}
	if !b.fall.Through("x.k.example.com.") || b.fall.Through("x.example.org.") {
		t.Errorf("fallthrough %v", b.fall.Zones)
	}
	want := records.ZoneOptions{
		Origin: "k.example.com.", Flatten: true, TTL: 30, LoadBalancedTTL: 200,
		Rname: `my\.dns\.admin.example.com.`,
		Nameservers: []records.Nameserver{
			{Name: "ns1.k.example.com.", Addresses: []netip.Addr{netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")}},
			{Name: "ns.elsewhere.net."},
		},
	}
	if !reflect.DeepEqual(inst.config.zones[0], want) {
		t.Errorf("zone %+v\nwant %+v", inst.config.zones[0], want)
	}
	sel, err := inst.config.selection()
	if err != nil || strings.Join(sel.Namespaces, ",") != "a,b" || len(sel.Kinds) != int(api.NumKinds) {
		t.Errorf("selection %+v, %v", sel, err)
	}
	if sel.Policies.String() != "env=prod,team in (x,y)" {
		t.Errorf("policies %s", sel.Policies)
	}
	if inst.config.geoip[1] != "a.mmdb" || inst.config.geoip[0] != "/b.mmdb" {
		t.Errorf("geoip %v", inst.config.geoip)
	}
}

// TestParseErrors: each message says what is wrong, and where (rule 8.3).
func TestParseErrors(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for block, want := range map[string]string{
		"foo bar":                             `Testfile:2 - Error during parsing: unknown property "foo"`,
		"answer maybe":                        `answer: wanted chain or flatten, found "maybe"`,
		"answer":                              "answer: wanted chain or flatten, found nothing",
		"ttl":                                 "ttl: wanted DEFAULT [LOADBALANCED], found nothing",
		"ttl -1":                              `ttl: wanted seconds from 0 to 2147483647, found "-1"`,
		"ttl 60 2147483648":                   `found "2147483648"`,
		"ttl 1 2 3":                           `wanted DEFAULT [LOADBALANCED], found "1 2 3"`,
		"ttl 5\nttl 6":                        "Testfile:3 - Error during parsing: ttl is given twice in one block",
		"nameserver":                          "nameserver: wanted NAME [ADDRESS...], found nothing",
		"nameserver ns.example.com":           "nameserver ns.example.com. lies in the zone example.com. and has no address",
		"nameserver ns.example.com 1.2.3":     `wanted an IP address, found "1.2.3"`,
		"nameserver a..b":                     `wanted a domain name, found "a..b"`,
		"nameserver n.net\nnameserver n.net.": "wanted each name once",
		"manifests " + dir + "/none":          "no such file or directory",
		"manifests " + file:                   "is not a directory",
		"manifests / ":                        "cannot name a cluster",
		"manifests " + dir + "\nmanifests " + dir: "two directories for cluster",
		"manifests " + dir + "\nkubeconfig x":     "manifests and kubeconfig exclude each other",
		"kubeconfig":                              "kubeconfig: wanted FILE [CONTEXT], found nothing",
		"kinds Gateway Pod":                       `kinds: unknown kind "Pod": known are Gateway, DNSPolicy`,
		"policies a in b":                         "policies:",
		"policies":                                "policies: wanted SELECTOR, found nothing",
		"namespaces":                              "namespaces: wanted NAMESPACE..., found nothing",
		"geoip":                                   "geoip: wanted FILE..., found nothing",
		"nets a b":                                `nets: wanted FILE, found "a b"`,
		"rname":                                   "rname: wanted EMAIL, found nothing",
	} {
		inst := newInstance()
		_, err := parse(caddy.NewTestController("dns", "kuadrant example.com {\n"+block+"\n}"), inst.config)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v\nwant %s", block, err, want)
		}
	}
	for corefile, want := range map[string]string{
		"kuadrant a..b":                        `zone "a..b" is not a domain name`,
		"kuadrant example.com\nkuadrant a.com": "this plugin can only be used once per Server Block",
		"kuadrant " + strings.Repeat("a", 64):  "is not a domain name",
	} {
		_, err := parse(caddy.NewTestController("dns", corefile), newInstance().config)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v\nwant %s", corefile, err, want)
		}
	}
}

// TestParseShared: what is process-wide stands in one block or is equal in all;
// a zone has the same settings wherever it stands.
func TestParseShared(t *testing.T) {
	dirA, dirB := t.TempDir(), t.TempDir()
	for _, c := range []struct{ first, second, want string }{
		{"namespaces a b", "namespaces b a", ""},
		{"namespaces a", "namespaces b", "another server block says something else"},
		{"policies x=1", "policies  x = 1", ""},
		{"policies x=1", "policies x=2", "another server block says something else"},
		{"manifests " + dirA, "", ""},
		{"", "manifests " + dirA, ""},
		{"manifests " + dirA, "manifests " + dirA, ""},
		{"manifests " + dirA, "manifests " + dirB, "another server block says something else"},
		{"manifests " + dirA, "kubeconfig x", "exclude each other"},
		{"kubeconfig x", "manifests " + dirA, "exclude each other"},
		{"kubeconfig x a", "kubeconfig x b", "another server block says something else"},
		{"ttl 60", "", ""},
		{"ttl 61", "", "zone example.com. has other settings at Testfile:1"},
		{"fallthrough", "", ""},
	} {
		inst := newInstance()
		if _, err := parse(caddy.NewTestController("dns", "kuadrant example.com {\n"+c.first+"\n}"), inst.config); err != nil {
			t.Fatalf("%q: %v", c.first, err)
		}
		_, err := parse(caddy.NewTestController("dns", "kuadrant example.com {\n"+c.second+"\n}"), inst.config)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%q, then %q: %v, want %q", c.first, c.second, err, c.want)
		}
	}
}

func TestWatchNamespaces(t *testing.T) {
	t.Setenv(watchNamespaces, "a, b,,c")
	sel, err := (&config{}).selection()
	if err != nil || strings.Join(sel.Namespaces, "|") != "a|b|c" {
		t.Errorf("namespaces %q, %v", sel.Namespaces, err)
	}
	sel, err = (&config{namespaces: []string{"x"}}).selection()
	if err != nil || strings.Join(sel.Namespaces, "|") != "x" {
		t.Errorf("the Corefile's namespaces: %q, %v", sel.Namespaces, err)
	}
}

func TestRestConfig(t *testing.T) {
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	t.Setenv("KUBECONFIG", "")
	if _, err := (&config{}).restConfig(); err == nil || !strings.Contains(err.Error(), "no objects to read") {
		t.Errorf("without anything: %v", err)
	}
	file := filepath.Join(t.TempDir(), "config")
	text := `{apiVersion: v1, kind: Config, current-context: one,
clusters: [{name: c1, cluster: {server: "https://127.0.0.1:1"}}, {name: c2, cluster: {server: "https://127.0.0.1:2"}}],
users: [{name: u, user: {token: t}}],
contexts: [{name: one, context: {cluster: c1, user: u}}, {name: two, context: {cluster: c2, user: u}}]}`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		k          kubeconfig
		env        string
		host, want string
	}{
		{kubeconfig{file: file}, "", "https://127.0.0.1:1", ""},
		{kubeconfig{file: file, context: "two"}, "", "https://127.0.0.1:2", ""},
		{kubeconfig{file: file, context: "three"}, "", "", `context "three" does not exist`},
		{kubeconfig{file: file + ".none"}, "", "", "no such file"},
		{kubeconfig{}, file, "https://127.0.0.1:1", ""},
	} {
		t.Setenv("KUBECONFIG", c.env)
		rc, err := (&config{kubeconfig: c.k}).restConfig()
		switch {
		case c.want != "":
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%+v: %v, want %q", c.k, err, c.want)
			}
		case err != nil || rc.Host != c.host:
			t.Errorf("%+v: %v, %v, want %s", c.k, rc, err, c.host)
		}
	}
}

// FuzzCorefile: no text makes the parser panic, and what it takes can be
// configured or is refused.
func FuzzCorefile(f *testing.F) {
	f.Add("kuadrant example.com {\nttl 5 6\nanswer flatten\nnameserver ns.x.net 192.0.2.1\n}")
	f.Add("kuadrant . {\nfallthrough a b\npolicies a in (b)\nkinds Gateway\n}")
	f.Add("kuadrant 10.0.0.0/20 {\nrname a@b\n}")
	f.Add("kuadrant a\\.b *.c {\nnameserver \\000.x ::\n}")
	f.Fuzz(func(t *testing.T, text string) {
		inst := newInstance()
		b, err := parse(caddy.NewTestController("dns", text), inst.config)
		if err != nil {
			return
		}
		if len(b.zones) == 0 && len(inst.config.zones) > 0 {
			t.Errorf("%q: zones without a block", text)
		}
		snap := records.Compile(nil, api.Objects{}, &records.Options{Zones: inst.config.zones}, inst.engine.now())
		for _, z := range snap.Zones() {
			q := records.Query{Name: z.Origin(), Owner: z.Origin(), Type: 6}
			var a records.Answer
			if snap.Lookup(z, &q, &a); len(a.Answer) != 1 {
				t.Errorf("%q: zone %q answers %v for its SOA", text, z.Origin(), a)
			}
		}
	})
}
