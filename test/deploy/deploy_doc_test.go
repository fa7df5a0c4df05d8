package deploy

import (
	"encoding/binary"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/internal/boottest"
	"github.com/coredns-kuadrant/kuadrant/internal/doctest"
	"github.com/coredns-kuadrant/kuadrant/internal/peertest"
)

// deployDoc returns a text of docs, and its Corefiles.
func deployDoc(t *testing.T, name string) (text string, corefiles []string) {
	t.Helper()
	text = boottest.ReadFile(t, filepath.Join("docs", name))
	for _, b := range doctest.Corefiles.FindAllStringSubmatch(text, -1) {
		corefiles = append(corefiles, b[1])
	}
	if len(corefiles) == 0 {
		t.Fatalf("no Corefile in docs/%s", name)
	}
	return text, corefiles
}

// TestDeployDocCorefiles boots every Corefile in the texts about deployment and migration.
func TestDeployDocCorefiles(t *testing.T) {
	program, config := boottest.CoreDNS(t), boottest.Unreachable(t)
	for _, name := range []string{"migrating.md", "cluster-dns.md", "delegation.md", "client-address.md"} {
		_, corefiles := deployDoc(t, name)
		for i, c := range corefiles {
			t.Run(fmt.Sprint(name, " ", i+1), func(t *testing.T) {
				file := filepath.Join(t.TempDir(), "Corefile")
				boottest.WriteFile(t, file, fit(t, c, config).text)
				boottest.ReplaceKubeconfigs(t, file, config)
				boottest.RunCoreDNS(t, program, file, "KUBECONFIG="+config)
			})
		}
	}
}

// TestDelegationDoc serves the zone of docs/delegation.md as set up there, and its parent with the
// lines to add, and runs the commands.
func TestDelegationDoc(t *testing.T) {
	if _, err := exec.LookPath("dig"); err != nil {
		t.Skip("dig is not installed: it is in Debian's package bind9-dnsutils")
	}
	text, corefiles := deployDoc(t, "delegation.md")
	added := regexp.MustCompile("(?s)~~~ zone\n(.*?)~~~").FindStringSubmatch(text)
	if added == nil {
		t.Fatal("no lines for the parent")
	}
	dir := t.TempDir()
	boottest.WriteFile(t, filepath.Join(dir, "parent"), "example.com. 3600 IN SOA a.example.com. hostmaster.example.com. 1 3600 600 1209600 300\nexample.com. 3600 IN NS a.example.com.\na.example.com. 3600 IN A 192.0.2.1\n"+added[1])
	objects := filepath.Join(dir, "objects")
	if err := os.Mkdir(objects, 0o755); err != nil {
		t.Fatal(err)
	}
	boottest.WriteFile(t, filepath.Join(objects, "a.yaml"), fmt.Sprintf(boottest.Gateway, "www.apps.example.com", "203.0.113.10"))
	program := boottest.CoreDNS(t)
	corefile := strings.Replace(fit(t, corefiles[0], "").text, "kuadrant {", "kuadrant {\nmanifests "+objects, 1)
	child, _ := peertest.RunCoreDNS(t, program, corefile)
	parent, _ := peertest.RunCoreDNS(t, program, "example.com {\nbind 127.0.0.1\nfile "+filepath.Join(dir, "parent")+"\n}\n")
	boottest.WaitFor(t, "the child", func() bool { return boottest.AskFirst(child, "www.apps.example.com.") == "203.0.113.10" })
	boottest.WaitFor(t, "the parent", func() bool { return boottest.AskFirst(parent, "a.example.com.") == "192.0.2.1" })
	typeAll(t, text, 6, strings.NewReplacer("@192.0.2.53", digs(child), "@198.51.100.53", digs(child), "@a.example.com", digs(parent)))
}

// typeAll runs the commands that a text shows in a terminal, and checks that there are at least so
// many.
func typeAll(t *testing.T, text string, least int, servers *strings.Replacer) {
	t.Helper()
	commands := 0
	for _, b := range doctest.Console.FindAllStringSubmatch(text, -1) {
		for _, c := range doctest.ShownIn(b[1]) {
			commands++
			c.Line = servers.Replace(c.Line)
			if got, err := c.Run(""); err != nil || got != c.Want {
				t.Errorf("%s: %v\n%s\nwant\n%s", c.Line, err, got, c.Want)
			}
		}
	}
	if commands < least {
		t.Errorf("found %d commands", commands)
	}
}

// digs returns an address in dig's form.
func digs(addr string) string { return "@" + strings.Replace(addr, ":", " -p ", 1) }

// proxied puts a PROXY protocol header (version 2) before what a client has sent to a proxy over a
// transport: 1 for TCP, 2 for UDP.
func proxied(client string, transport byte, sent []byte) []byte {
	header := append([]byte("\r\n\r\n\x00\r\nQUIT\n"), 0x21, 0x10|transport, 0, 12)
	header = append(header, net.ParseIP(client).To4()...)
	header = append(header, 192, 0, 2, 53)
	header = binary.BigEndian.AppendUint16(header, 4242)
	header = binary.BigEndian.AppendUint16(header, 53)
	return append(header, sent...)
}

// askThroughProxy queries over a network as a proxy does for a client, or, for the client "", as
// the client itself.
func askThroughProxy(t *testing.T, network, addr, client string) string {
	t.Helper()
	packed, err := boottest.Question("a.example.com.", dns.TypeA).Pack()
	if err != nil {
		t.Fatal(err)
	}
	transport := byte(2)
	if network == "tcp" {
		packed = append(binary.BigEndian.AppendUint16(nil, uint16(len(packed))), packed...)
		transport = 1
	}
	if client != "" {
		packed = proxied(client, transport, packed)
	}
	conn, err := dns.Dial(network, addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	// dns.Conn would put the length before the header.
	if _, err := conn.Conn.Write(packed); err != nil {
		t.Fatal(err)
	}
	reply, err := conn.ReadMsg()
	if err != nil {
		t.Fatal(err)
	}
	return boottest.FirstA(reply)
}

// TestClientAddressDoc: behind a proxy, the Corefile of docs/client-address.md answers by the
// address in the header, over UDP and TCP, and without a header by the source of the query.
func TestClientAddressDoc(t *testing.T) {
	_, corefiles := deployDoc(t, "client-address.md")
	at := slices.IndexFunc(corefiles, func(c string) bool { return strings.Contains(c, "proxyproto") })
	if at < 0 || !strings.Contains(corefiles[at], "allow 192.0.2.10/32") {
		t.Fatal("no Corefile for a proxy")
	}
	dir := t.TempDir()
	objects := ""
	for geo, address := range map[string]string{"IE": "192.0.2.1", "US": "192.0.2.2"} {
		objects += strings.NewReplacer("name: gw", "name: "+strings.ToLower(geo), "name: p}", "name: "+strings.ToLower(geo)+"}", "spec: {targetRef", "spec: {loadBalancing: {weight: 120, geo: "+geo+", defaultGeo: "+fmt.Sprint(geo == "IE")+"}, targetRef").
			Replace(fmt.Sprintf(boottest.Gateway, "a.example.com", address)) + "---\n"
	}
	boottest.WriteFile(t, filepath.Join(dir, "a.yaml"), objects)
	corefile := strings.NewReplacer("192.0.2.10/32", "127.0.0.1/32", "nets examples", "manifests "+dir+"\nnets examples").
		Replace(fit(t, corefiles[at], "").text)
	addr, printed := peertest.RunCoreDNS(t, boottest.CoreDNS(t), corefile)
	boottest.WaitFor(t, "answer", func() bool { return boottest.AskFirst(addr, "a.example.com.") == "192.0.2.1" })
	for _, network := range []string{"udp", "tcp"} {
		for client, want := range map[string]string{"10.1.0.1": "192.0.2.1", "10.2.0.1": "192.0.2.2", "": "192.0.2.1"} {
			if got := askThroughProxy(t, network, addr, client); got != want {
				t.Errorf("%s from %q: %s, want %s\n%s", network, client, got, want, printed())
			}
		}
	}
}
