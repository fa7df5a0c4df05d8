package kuadrant

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coredns/caddy"
	"github.com/miekg/dns"
)

// TestReloadWithBrokenFile: a manifest that cannot be read since it was read last
// stands after a reload as it stands without one (rule 8.3).
func TestReloadWithBrokenFile(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) { t.Helper(); writeFile(t, filepath.Join(dir, name+".yaml"), text) }
	write("a", gatewayFile("a", "192.0.2.1"))
	write("b", gatewayFile("b", "192.0.2.2"))
	port := freePort(t)
	addr := fmt.Sprintf("127.0.0.1:%d", port)
	corefile := func(reads string, ttl int) caddy.Input {
		return caddy.CaddyfileInput{Filepath: "Corefile", ServerTypeName: "dns", Contents: fmt.Appendf(nil,
			"example.com:%d {\nbind 127.0.0.1\nkuadrant {\n%s\nttl %d\n}\n}\n", port, reads, ttl)}
	}
	expect := func(when, name, want string) {
		t.Helper()
		if got := firstA(exchange(t, addr, name+".example.com.", dns.TypeA)); got != want {
			t.Errorf("%s: %s is answered with %s, want %s", when, name, got, want)
		}
	}
	await := func(name, want string) {
		t.Helper()
		waitFor(t, name+" at "+want, func() bool { return firstA(exchange(t, addr, name+".example.com.", dns.TypeA)) == want })
	}
	inst, err := caddy.Start(corefile("manifests "+dir, 60))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = inst.Stop()
		inst.ShutdownCallbacks()
	}()
	await("b", "192.0.2.2")
	write("b", "{ broken")
	write("a", gatewayFile("a", "192.0.2.11"))
	await("a", "192.0.2.11") // the broken one has been seen with it
	reload := func(reads string) {
		t.Helper()
		if inst, err = inst.Restart(corefile(reads, 30)); err != nil {
			t.Fatal(err)
		}
	}
	reload("manifests " + dir)
	expect("right after the reload", "b", "192.0.2.2")
	expect("right after the reload", "no", "NXDOMAIN")
	write("a", gatewayFile("a", "192.0.2.12"))
	await("a", "192.0.2.12")
	expect("after the directory was read", "b", "192.0.2.2")
	expect("after the directory was read", "no", "NXDOMAIN")

	config := filepath.Join(t.TempDir(), "kubeconfig")
	writeFile(t, config, `{apiVersion: v1, kind: Config, current-context: c, clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}],
users: [{name: u, user: {token: t}}], contexts: [{name: c, context: {cluster: c, user: u}}]}`)
	reload("kubeconfig " + config)
	expect("with the API server away", "a", "192.0.2.12")
	expect("with the API server away", "b", "192.0.2.2")
	expect("with the API server away", "no", "NXDOMAIN")

	write("b", gatewayFile("b", "192.0.2.22"))
	reload("manifests " + dir)
	await("b", "192.0.2.22")
	expect("once the file is whole", "no", "NXDOMAIN")
}

// gatewayFile is a manifest with a simple host below example.com.
func gatewayFile(name, address string) string {
	text := fmt.Sprintf(bootGateway, name+".example.com", address)
	return strings.NewReplacer("name: gw", "name: "+name, "name: p}", "name: "+name+"}").Replace(text)
}
