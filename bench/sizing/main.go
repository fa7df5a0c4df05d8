//go:build linux

// Command sizing starts a CoreDNS over as many objects as it is told, and prints what that takes: memory, CPU time until the last
// name is answered, and the state on disk. docs/operations.md has its figures.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/bench/objects"
	"github.com/coredns-kuadrant/kuadrant/bench/process"
)

// plan is what is started, and over how much.
type plan struct {
	binary                  string
	hosts, steered, records int
	limit                   string // of the garbage collector; "" for none
}

func main() {
	var p plan
	flag.StringVar(&p.binary, "coredns", "bin/coredns", "the server to measure")
	flag.IntVar(&p.hosts, "hosts", 0, "simple hosts, each a Gateway with a policy; below 100,000")
	flag.IntVar(&p.steered, "steered", 0, "weightedGeo hosts, each two Gateways with a policy; below 100,000")
	flag.IntVar(&p.records, "records", 0, "Records of one Zone, each a name with an address")
	flag.StringVar(&p.limit, "gomemlimit", "", "the variable GOMEMLIMIT of the server, such as 460MiB")
	flag.Parse()
	if err := measure(p); err != nil {
		fmt.Fprintln(os.Stderr, "sizing:", err)
		os.Exit(1)
	}
}

// measure starts the server, waits for the last of the names and for the state, and prints the figures.
func measure(p plan) error {
	dir, err := os.MkdirTemp("", "sizing")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	manifests, state, corefile := filepath.Join(dir, "manifests"), filepath.Join(dir, "state"), filepath.Join(dir, "Corefile")
	if err := p.write(manifests); err != nil {
		return err
	}
	addr, err := freeAddress()
	if err != nil {
		return err
	}
	text := fmt.Sprintf(". {\n    bind 127.0.0.1\n    kuadrant %s %s %s {\n        manifests %s\n        state %s\n        zone-namespaces dns\n    }\n}\n",
		objects.Zone, objects.FlatZone, recordZone, manifests, state)
	if err := os.WriteFile(corefile, []byte(text), 0o644); err != nil {
		return err
	}
	if p.limit != "" {
		if err := os.Setenv("GOMEMLIMIT", p.limit); err != nil {
			return err
		}
	}
	_, port, _ := net.SplitHostPort(addr)
	server, err := process.Start(-1, filepath.Join(dir, "log"), p.binary, "-conf", corefile, "-dns.port", port)
	if err != nil {
		return fmt.Errorf("%w: `make build` builds it, and -coredns names another", err)
	}
	defer server.Stop()
	if err := server.Await("answer for the last name", 5*time.Minute, func() error { return answered(addr, p.last()) }); err != nil {
		return err
	}
	return report(server, filepath.Join(state, "kuadrant-state.json"))
}

// report waits for the state, and prints what the server has taken.
func report(server *process.Process, state string) error {
	cpu, err := server.CPU()
	if err != nil {
		return err
	}
	var size int64
	if err := server.Await("state", time.Minute, func() error {
		info, err := os.Stat(state)
		if errors.Is(err, fs.ErrNotExist) {
			return err
		}
		size = info.Size()
		return err
	}); err != nil {
		return err
	}
	now, most, err := server.Memory()
	if err != nil {
		return err
	}
	fmt.Printf("memory %d MiB, at the most %d MiB; CPU until the last name was answered %.1f s; state on disk %.1f MB\n",
		now>>20, most>>20, cpu.Seconds(), float64(size)/1e6)
	return nil
}

// recordZone is where Records lie.
const recordZone = "records.example."

// last returns a name that is there when all are.
func (p plan) last() string {
	switch {
	case p.records > 0:
		return recordName(p.records - 1)
	case p.steered > 0:
		return objects.Host(p.steered-1, objects.FlatZone)
	case p.hosts > 0:
		return objects.Host(p.hosts-1, objects.Zone)
	}
	return objects.Zone // which has an SOA
}

func recordName(i int) string { return fmt.Sprintf("r%07d.%s", i, recordZone) }

// answered tells whether a name is answered without an error.
func answered(addr, name string) error {
	r, err := dns.Exchange(new(dns.Msg).SetQuestion(name, dns.TypeA), addr)
	if err == nil && r.Rcode != dns.RcodeSuccess {
		err = fmt.Errorf("%s: %s", name, dns.RcodeToString[r.Rcode])
	}
	return err
}

// perFile is how many objects a file has: a file has 64 MiB at the most.
const perFile = 10_000

// write writes the objects. A source reads files in the order of their names, and publishes when it has read all.
func (p plan) write(dir string) error {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	var b strings.Builder
	files, held := 0, 0
	flush := func() error {
		files, held = files+1, 0
		text := b.String()
		b.Reset()
		return os.WriteFile(filepath.Join(dir, fmt.Sprintf("%04d.yaml", files)), []byte(text), 0o644)
	}
	for object := range p.objects {
		b.WriteString(object + "\n---\n")
		if held++; held == perFile {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	return flush()
}

// objects yields the objects in JSON.
func (p plan) objects(yield func(string) bool) {
	provided := make(map[string]bool)
	put := func(all ...objects.Object) bool {
		for _, o := range all {
			if !provided[o.Namespace()] {
				provided[o.Namespace()] = true
				if !yield(string(o.Provider())) {
					return false
				}
			}
			if !yield(string(o.Gateway())) || !yield(string(o.Policy())) {
				return false
			}
		}
		return true
	}
	for i := range p.hosts {
		if !put(objects.Simple(i)) {
			return
		}
	}
	for i := range p.steered {
		two := objects.Steered(i, objects.FlatZone)
		if !put(two[:]...) {
			return
		}
	}
	if p.records > 0 && !yield(`{"apiVersion":"kubi.zone/v1alpha1","kind":"Zone","metadata":{"namespace":"dns","name":"zone"},"spec":{"domainName":"`+recordZone+`","delegations":[{"records":[{"pattern":"*"}]}]}}`) {
		return
	}
	for i := range p.records {
		if !yield(fmt.Sprintf(`{"apiVersion":"kubi.zone/v1alpha1","kind":"Record","metadata":{"namespace":"dns","name":"r%07d"},"spec":{"domainName":%q,"type":"A","rdata":"10.%d.%d.%d"}}`,
			i, recordName(i), i>>16&255, i>>8&255, i&255)) {
			return
		}
	}
}

// freeAddress returns an address of loopback that nobody listens on.
func freeAddress() (string, error) {
	c, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer c.Close()
	return c.LocalAddr().String(), nil
}
