package kuadrant

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coredns/caddy"
	_ "github.com/coredns/coredns/plugin/geoip"
	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/internal/geotest"
)

// TestSetupErrors: what only the whole Corefile shows is a set-up error too, and
// says on which line (rule 8.3).
func TestSetupErrors(t *testing.T) {
	t.Setenv("KUBECONFIG", "")
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	dir := t.TempDir()
	write := func(name string, content []byte) string {
		file := filepath.Join(dir, name)
		writeFile(t, file, string(content))
		return file
	}
	city, err := geotest.Encode(geotest.City, geotest.Places())
	if err != nil {
		t.Fatal(err)
	}
	html, cut, empty := write("html.mmdb", []byte("<html>")), write("cut.mmdb", city[:len(city)-100]), write("empty", nil)
	away := unreachable(t)
	nets := write("nets", []byte("\n192.0.2.0/24 UK\n"))
	words := write("override", []byte("\ntarget 192.0.2.1 gone\n"))
	const notComplete = ": not a complete MaxMind DB file: " // the reader's own words follow
	for _, c := range []struct {
		server, more string // lines before the directive, and of its block
		line         int
		want         string
	}{
		{"cache", "manifests " + dir, 4, "server block for the root zone with cache: write the zones, as in `kuadrant example.com` or `kuadrant .`, because the cache is bypassed for them"},
		{"", "", 4, "no objects to read: not in a cluster, and neither kubeconfig, manifests nor the variable KUBECONFIG is set"},
		{"", "ttl 5\nkubeconfig " + dir + "/none\nttl 6", 7, "ttl is given twice in one block"},
		{"", "ttl 5\nkubeconfig " + dir + "/none", 6, "kubeconfig: read " + dir + "/none: no such file or directory"},
		{"", "kubeconfig " + away + "\ncluster a " + away + "\ncluster b " + dir + "/none", 7, "cluster b: read " + dir + "/none: no such file or directory"},
		{"", "kubeconfig " + away + "\ncluster a " + away + " nobody {\nwrite-back off\n}", 6, `cluster a: context "nobody" does not exist in ` + away + ": known are c"},
		{"", "manifests " + dir + "\ngeoip /none.mmdb\nttl 5", 6, `geoip: open geo database "/none.mmdb": no such file or directory`},
		{"", "manifests " + dir + "\n\ngeoip " + dir, 7, `geoip: open geo database "` + dir + `": not a file but a directory`},
		{"", "manifests " + dir + "\ngeoip " + html, 6, `geoip: open geo database "` + html + `"` + notComplete},
		{"", "geoip " + cut + "\nmanifests " + dir, 5, `geoip: open geo database "` + cut + `"` + notComplete},
		{"", "manifests " + dir + "\ngeoip " + empty, 6, `geoip: open geo database "` + empty + `": the file is empty`},
		{"", "manifests " + dir + "\nnets " + dir + "/none", 6, `nets: open networks file "` + dir + `/none": no such file or directory`},
		{"", "manifests " + dir + "\nnets " + nets, 6, `nets: open networks file "` + nets + `": ` + nets + `:2: `},
		{"", "manifests " + dir + "\nstate " + empty + "/state\nttl 5", 6, "state: make directory: mkdir " + empty + ": not a directory"},
		{"", "manifests " + dir + "\nstate " + empty, 6, "state: make directory: mkdir " + empty + ": not a directory"},
		{"", "manifests " + dir + "\noverride " + dir, 6, `override: read ` + dir + `: not a file but a directory`},
		{"", "override " + words + "\nmanifests " + dir, 5, `override: ` + words + `:2: "gone": write up or down`},
	} {
		corefile := fmt.Sprintf(".:0 {\nbind 127.0.0.1\n%s\nkuadrant {\n%s\n}\n}", c.server, c.more)
		inst, err := caddy.Start(caddy.CaddyfileInput{Contents: []byte(corefile), Filepath: "Corefile", ServerTypeName: "dns"})
		if err == nil {
			_ = inst.Stop()
			inst.ShutdownCallbacks()
		}
		want := fmt.Sprintf("plugin/kuadrant: Corefile:%d - Error during parsing: %s", c.line, c.want)
		if err == nil || err.Error() != want && !(strings.HasSuffix(want, ": ") && strings.HasPrefix(err.Error(), want)) {
			t.Errorf("%s:\n%v\nwant\n%s", corefile, err, want)
		}
	}
}

// TestSetupWarnings: what may be meant as it stands is served, and a line of the
// log says at the start what to look at, and where it stands.
func TestSetupWarnings(t *testing.T) {
	files := geotest.Write(t, t.TempDir())
	const nobody = "Corefile:4: the geoip plugin locates nobody without the metadata plugin: write metadata in this server block"
	const noEmail = `Corefile:5: rname "admin.example.com" is not an e-mail address`
	for _, c := range []struct {
		server, more string
		says, not    string
	}{
		{"geoip " + files.City, "ttl 5", nobody, "rname"},
		{"geoip " + files.City + " { \nedns-subnet\n}\nmetadata", "ttl 5", "", "geoip"},
		{"geoip " + files.City, "geoip " + files.City, "", "metadata"},
		{"", "rname admin.example.com", noEmail, "geoip"},
		{"", "rname admin@example.com", "", "rname"},
		{"", "publish exmple.com dns", "Corefile:5: publish exmple.com: no zone served here now has this name", "geoip"},
		{"", "publish com dns\npublish example.com dns\npublish a.example.com dns", "", "publish"},
	} {
		log := listen(t)
		inst, _ := boot(t, fmt.Sprintf("example.com:0 {\nbind 127.0.0.1\n%s\nkuadrant {\n%s\nmanifests %s\n}\n}", c.server, c.more, t.TempDir()))
		_ = inst.Stop()
		inst.ShutdownCallbacks()
		if c.says != "" && !log.has("warning", c.says) || log.has("warning", c.not) {
			t.Errorf("%s, %s: logged %q, want %q and nothing of %s", c.server, c.more, log.all(), c.says, c.not)
		}
	}
}

// TestSetupGeoLog: a database that is reloaded is good news, one that cannot be
// is a warning.
func TestSetupGeoLog(t *testing.T) {
	dir := t.TempDir()
	files := geotest.Write(t, dir)
	log := listen(t)
	inst, _ := boot(t, fmt.Sprintf("example.com:0 {\nbind 127.0.0.1\nkuadrant {\nmanifests %s\ngeoip %s\n}\n}", t.TempDir(), files.City))
	defer func() {
		_ = inst.Stop()
		inst.ShutdownCallbacks()
	}()
	country, err := os.ReadFile(files.Country)
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, files.City, string(country))
	waitFor(t, "reload", func() bool { return log.has("info", `geo database "`+files.City+`" reloaded`) })
	writeFile(t, files.City, "<html>")
	waitFor(t, "warning", func() bool { return log.has("warning", "what was loaded before stays in use") })
	if log.has("warning", "reloaded") {
		t.Error("the good news is a warning")
	}
}

// TestSetupGeoip: without databases of its own the plugin asks CoreDNS's geoip
// plugin, with its option edns-subnet and without it: for the client subnet of a
// query, else for the sender (rule 3.5).
func TestSetupGeoip(t *testing.T) {
	files := geotest.Write(t, t.TempDir())
	dir := t.TempDir()
	for _, m := range []struct{ name, geo, addr string }{{"eu", "GEO-EU", "192.0.2.1"}, {"na", "GEO-NA", "192.0.2.2"}} {
		writeFile(t, filepath.Join(dir, m.name+".yaml"), fmt.Sprintf(`apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {namespace: ns, name: %[1]s}
spec:
  gatewayClassName: x
  listeners: [{name: a, hostname: a.example.com, port: 80, protocol: HTTP}]
status: {addresses: [{value: %[3]s}]}
---
apiVersion: kuadrant.io/v1
kind: DNSPolicy
metadata: {namespace: ns, name: %[1]s}
spec:
  targetRef: {group: gateway.networking.k8s.io, kind: Gateway, name: %[1]s}
  loadBalancing: {weight: 1, geo: %[2]s, defaultGeo: %[4]t}
`, m.name, m.geo, m.addr, m.name == "eu"))
	}
	ask := func(addr, subnet string) string {
		q := question("a.example.com.", dns.TypeA)
		if subnet != "" {
			p := netip.MustParsePrefix(subnet)
			q.SetEdns0(1232, false)
			q.IsEdns0().Option = append(q.IsEdns0().Option, &dns.EDNS0_SUBNET{
				Code: dns.EDNS0SUBNET, Family: 1, SourceNetmask: uint8(p.Bits()), Address: p.Addr().AsSlice(),
			})
		}
		m, _, err := new(dns.Client).Exchange(q, addr)
		if err != nil {
			t.Fatal(err)
		}
		return firstA(m)
	}
	for _, option := range []string{"", "{\nedns-subnet\n}"} {
		port := freePort(t)
		inst, _ := boot(t, fmt.Sprintf("example.com:%d {\nbind 127.0.0.1\nmetadata\ngeoip %s %s\nkuadrant {\nmanifests %s\n}\n}", port, files.City, option, dir))
		addr := fmt.Sprintf("127.0.0.1:%d", port)
		waitFor(t, "first answer", func() bool { return ask(addr, "") == "192.0.2.1" }) // nothing is known of 127.0.0.1
		for subnet, want := range map[string]string{"198.51.100.0/24": "192.0.2.2", "203.0.113.0/24": "192.0.2.1"} {
			if got := ask(addr, subnet); got != want {
				t.Errorf("geoip %s: %s gets %s, want %s", option, subnet, got, want)
			}
		}
		_ = inst.Stop()
		inst.ShutdownCallbacks()
	}
}
