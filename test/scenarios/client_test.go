package scenarios

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/internal/boottest"
	"github.com/coredns-kuadrant/kuadrant/internal/peertest"
)

// TestClientThatReadsNothing: one TCP connection sends 3,000 queries, reads no answer, and ends. The
// server logs one line at most, at information level (bug 3a27).
func TestClientThatReadsNothing(t *testing.T) {
	const queries = 3000
	dir, metrics := t.TempDir(), fmt.Sprintf("127.0.0.1:%d", peertest.FreePort(t))
	boottest.WriteFile(t, filepath.Join(dir, "zone.yaml"), `apiVersion: kubi.zone/v1alpha1
kind: Zone
metadata: {namespace: dns, name: z}
spec: {domainName: example.com., delegations: [{records: [{pattern: "*"}]}]}
---
apiVersion: kubi.zone/v1alpha1
kind: Record
metadata: {namespace: dns, name: big}
spec: {domainName: big.example.com., type: TXT, rdata: '`+strings.Repeat(`"`+strings.Repeat("x", 250)+`" `, 40)+`'}
`)
	addr, printed := peertest.RunCoreDNS(t, boottest.CoreDNS(t), fmt.Sprintf(`example.com {
bind 127.0.0.1
errors
prometheus %s
kuadrant {
manifests %s
nameserver ns.example.com 192.0.2.53
}
}
`, metrics, dir))
	boottest.WaitFor(t, "answer", func() bool { return boottest.AskFirst(addr, "ns.example.com.") == "192.0.2.53" })
	before := printed()

	wire, err := boottest.Question("big.example.com.", dns.TypeTXT).Pack()
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.(*net.TCPConn).SetReadBuffer(4096); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, strings.Repeat(fmt.Sprintf("%c%c%s", 0, len(wire), wire), queries)); err != nil {
		t.Fatal(err)
	}
	// Its queries are read even after it is gone. No more than some hundred answers fit into buffers.
	if err := errors.Join(conn.(*net.TCPConn).SetLinger(0), conn.Close()); err != nil {
		t.Fatal(err)
	}
	counted, seen := regexp.MustCompile(`(?m)^coredns_dns_requests_total\{.*proto="tcp".* (\S+)$`), 0
	boottest.WaitOr(t, func() string { return fmt.Sprintf("the server has seen %d queries", seen) }, func() bool {
		response, err := http.Get("http://" + metrics + "/metrics")
		if err != nil {
			return false
		}
		defer response.Body.Close()
		text, _ := io.ReadAll(response.Body)
		if m := counted.FindSubmatch(text); m != nil {
			seen, _ = strconv.Atoi(string(m[1]))
		}
		return seen >= queries/2
	})
	if got := strings.TrimPrefix(printed(), before); strings.Count(got, "\n") > 1 || strings.Contains(got, "[ERROR]") || strings.Contains(got, "[WARNING]") {
		t.Errorf("the server logged %d lines:\n%.2000s", strings.Count(got, "\n"), got)
	}
}
