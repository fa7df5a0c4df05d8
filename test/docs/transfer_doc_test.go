package docs

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/internal/boottest"
	"github.com/coredns-kuadrant/kuadrant/internal/doctest"
	"github.com/coredns-kuadrant/kuadrant/internal/peertest"
)

// TestTransferExample starts a primary and a secondary from the Corefiles of examples/. It checks
// that the records of the zone, its sub-zone and the host with geo routing reach the secondary, and
// that a change follows.
func TestTransferExample(t *testing.T) {
	dir, primary, secondary := startTransferExample(t)
	for _, c := range []struct {
		name  string
		qtype uint16
	}{{"zone.example.org.", dns.TypeSOA}, {"zone.example.org.", dns.TypeMX}, {"zone.example.org.", dns.TypeNS}, {"x.dev.zone.example.org.", dns.TypeA}, {"dev.zone.example.org.", dns.TypeSOA}} {
		here, there := boottest.Exchange(t, primary, c.name, c.qtype), boottest.Exchange(t, secondary, c.name, c.qtype)
		if len(here.Answer) != 1 || len(there.Answer) != 1 || here.Answer[0].String() != there.Answer[0].String() {
			t.Errorf("%s %s: the primary has %v, the secondary %v", c.name, dns.TypeToString[c.qtype], here.Answer, there.Answer)
		}
	}
	if got := boottest.Exchange(t, secondary, "shop.zone.example.org.", dns.TypeA).Answer; len(got) != 2 {
		t.Errorf("the secondary has %v for the steered host, want the addresses of both clusters", got)
	}

	file := filepath.Join(dir, "examples", "eu", "zone.yaml")
	boottest.ReplaceIn(t, file, file, "192.0.2.60", "192.0.2.61")
	boottest.WaitFor(t, "the change at the secondary", func() bool {
		return boottest.FirstA(boottest.Exchange(t, secondary, "wiki.apps.zone.example.org.", dns.TypeA)) == "192.0.2.61"
	})
}

// TestTransferDoc runs the commands of docs/transfer.md against these two.
func TestTransferDoc(t *testing.T) {
	if _, err := exec.LookPath("dig"); err != nil {
		t.Skip("dig is not installed: it is in Debian's package bind9-dnsutils")
	}
	text, err := os.ReadFile("docs/transfer.md")
	if err != nil {
		t.Fatal(err)
	}
	_, primary, secondary := startTransferExample(t)
	_, port, _ := strings.Cut(primary, ":")
	_, second, _ := strings.Cut(secondary, ":")
	commands := 0
	for _, b := range doctest.Console.FindAllStringSubmatch(string(text), -1) {
		for _, c := range doctest.ShownIn(b[1]) {
			commands++
			c.Line = strings.Replace(c.Line, "-p 1054", "-p "+second, 1)
			if got, err := c.Run(port); err != nil || got != c.Want {
				t.Errorf("%s: %v\n%s\nwant\n%s", c.Line, err, got, c.Want)
			}
		}
	}
	if commands < 6 {
		t.Errorf("found %d commands", commands)
	}
}

// startTransferExample starts both from a copy of examples/, and returns its directory and the
// servers' addresses once the secondary has the zones.
func startTransferExample(t *testing.T) (dir, primary, secondary string) {
	t.Helper()
	dir = t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "examples"), os.DirFS("examples")); err != nil {
		t.Fatal(err)
	}
	port, second := fmt.Sprint(peertest.FreePort(t)), fmt.Sprint(peertest.FreePort(t))
	if port == second {
		t.Fatalf("port %s twice", port)
	}
	primary, secondary = "127.0.0.1:"+port, "127.0.0.1:"+second
	answers := func(addr, name, address string) {
		t.Helper()
		boottest.WaitFor(t, name+" at "+addr, func() bool { return boottest.FirstA(boottest.Exchange(t, addr, name, dns.TypeA)) == address })
	}
	binary := boottest.CoreDNS(t)
	start := func(name string) {
		file := filepath.Join(dir, name)
		boottest.ReplaceIn(t, filepath.Join("examples", name), file, ":1053", ":"+port, ":1054", ":"+second, " examples/", " "+dir+"/examples/")
		boottest.RunCoreDNS(t, binary, file)
	}
	// The secondary asks once at its start: the primary must have both clusters by then.
	start("Corefile.primary")
	answers(primary, "wiki.apps.zone.example.org.", "192.0.2.60")
	answers(primary, "geo-na.klb.shop.zone.example.org.", "198.51.100.10")
	start("Corefile.secondary")
	answers(secondary, "wiki.apps.zone.example.org.", "192.0.2.60")
	answers(secondary, "x.dev.zone.example.org.", "192.0.2.40")
	return dir, primary, secondary
}
