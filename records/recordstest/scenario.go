package recordstest

import (
	"bytes"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/miekg/dns"
	"golang.org/x/tools/txtar"
	"sigs.k8s.io/yaml"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records"
)

// Scenario is a file being played: a list of sections, in the order of time. Play compares the
// sections that have expectations.
//
//	corefile          the kuadrant directive; without it "kuadrant example.com"
//	nets              lines of CIDR and code: where clients are
//	pools             lines of a cluster and the namespaces in which it pools
//	groups            lines of a cluster and its group
//	dnssec            zones that CoreDNS's dnssec plugin lists; of RRSIG records, only type and signer are shown
//	CLUSTER/FILE.yaml the file's new content, empty to delete it
//	CLUSTER/FILE      the same in the short form
//	ask               questions, each followed by its answer: > NAME TYPE [from=ADDR] [ecs=CIDR] [do | co] [times=N]
//	explain           questions > NAME TYPE [from=ADDR], each followed by an explanation of the answer for a client of Network
//	verdicts          the status of all policies, Zones, Records, DNSRecords and DNSEndpoints
//	children          the objects that a writer would create for each policy
//	registry          the lines that a writer would keep; the registry holds them from then on
//	status            the status of all DNSRecords and DNSHealthCheckProbes, as a writer writes it
//	health            the check results of each policy, and the names that fail open
//	checks            the targets, and the problems of probes
//	transfer          the content of each zone's transfer
//	world             lines of World.Apply, if there is no server
type Scenario struct {
	T       testing.TB
	Archive *txtar.Archive
	Stage
	texts   Texts
	serials Serials
}

// Stage is the place where a scenario is played.
type Stage interface {
	// Write replaces the content of a cluster's file; nil deletes it.
	Write(cluster, file string, content []byte)
	// Settle returns once everything written is served.
	Settle()
	Snapshot() *records.Snapshot
	// Exchange returns the reply to a question, or what happens instead.
	Exchange(q Question) (reply *dns.Msg, instead string)
	// Keep makes the registry hold what a writer would keep now, and returns that.
	Keep() map[string]api.Owner
}

// Play plays all sections, and returns them with the actual results.
func (s *Scenario) Play() *txtar.Archive {
	out := &txtar.Archive{Comment: s.Archive.Comment, Files: slices.Clone(s.Archive.Files)}
	started := false
	for i, f := range out.Files {
		if see := s.Sections()[f.Name]; see != nil {
			s.Settle()
			started = true
			out.Files[i].Data = see(string(f.Data))
			continue
		}
		switch f.Name {
		case "world":
			s.change(string(f.Data))
			started = true
		case "corefile", "nets", "pools", "groups", "dnssec":
			if started {
				s.T.Fatalf("section %s comes after the start", f.Name)
			}
		default:
			cluster, file, ok := strings.Cut(f.Name, "/")
			if !ok {
				s.T.Fatalf("there is no section %s", f.Name)
			}
			s.Write(cluster, file, s.Content(f))
		}
	}
	return out
}

// Sections returns functions that produce the actual content of sections, by name.
func (s *Scenario) Sections() map[string]func(section string) []byte {
	return map[string]func(string) []byte{
		"ask": s.ask, "explain": s.explain, "verdicts": s.verdicts, "children": s.children, "status": s.statuses, "registry": s.registry,
		"health": s.health, "checks": s.checks, "transfer": s.transfer,
	}
}

// Content returns the objects of a section in YAML; nil for an empty one.
func (s *Scenario) Content(f txtar.File) []byte {
	if len(bytes.TrimSpace(f.Data)) == 0 || filepath.Ext(f.Name) != "" {
		return bytes.TrimSpace(f.Data)
	}
	cluster, _, _ := strings.Cut(f.Name, "/")
	text, err := s.texts.YAML(cluster, string(f.Data))
	if err != nil {
		s.T.Fatalf("section %s: %v", f.Name, err)
	}
	return text
}

// Section returns the first section with a name, or missing.
func (s *Scenario) Section(name, missing string) string {
	for _, f := range s.Archive.Files {
		if f.Name == name {
			return string(f.Data)
		}
	}
	return missing
}

// RunScenarios plays files, each as a separate test, on the stage that stage returns; nil skips the
// file. With update, it replaces the expectations by the actual results.
func RunScenarios(t *testing.T, pattern string, update bool, stage func(*testing.T, *Scenario) Stage) {
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("find scenarios: %v, %d files", err, len(files))
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			s := &Scenario{T: t, Archive: archive}
			if s.Stage = stage(t, s); s.Stage == nil {
				return
			}
			seen := s.Play()
			if update {
				if err := os.WriteFile(file, txtar.Format(seen), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			for i, f := range archive.Files {
				if want, got := bytes.TrimSpace(f.Data), bytes.TrimSpace(seen.Files[i].Data); !bytes.Equal(want, got) {
					t.Errorf("section %d, %s:\n--- want\n%s\n--- seen\n%s", i+1, f.Name, want, got)
				}
			}
		})
	}
}

// ask returns a section's questions with their answers.
func (s *Scenario) ask(section string) []byte {
	return s.each(section, s.question)
}

// explain returns a section's questions with the explanations of their answers.
func (s *Scenario) explain(section string) []byte {
	return s.each(section, func(q Question) []string {
		question, snap := q.Msg.Question[0], s.Snapshot()
		asked := records.Query{Name: question.Name, Owner: question.Name, Type: question.Qtype, Locator: Network}
		asked.Client, _ = netip.ParseAddr(q.From)
		var a records.Answer
		text, err := yaml.Marshal(snap.Explain(snap.ZoneOf(question.Name, question.Qtype), &asked, &a))
		if err != nil {
			s.T.Fatal(err)
		}
		return strings.Split(strings.TrimSpace(string(text)), "\n")
	})
}

// each returns a section's questions, each followed by what see returns for it.
func (s *Scenario) each(section string, see func(Question) []string) []byte {
	var out strings.Builder
	for line := range strings.Lines(section) {
		if !strings.HasPrefix(line, ">") {
			continue
		}
		q, err := ParseQuestion(line[1:])
		if err != nil {
			s.T.Fatal(err)
		}
		out.WriteString(line + strings.Join(see(q), "\n") + "\n\n")
	}
	return []byte(strings.TrimRight(out.String(), "\n") + "\n")
}

func (s *Scenario) question(q Question) []string {
	if q.Times > 1 {
		return Shares(q.Times, func() *dns.Msg {
			r, instead := s.Exchange(q)
			if r == nil {
				s.T.Fatalf("no reply: %s", instead)
			}
			return r
		})
	}
	r, instead := s.Exchange(q)
	if r == nil {
		return []string{instead}
	}
	wire, err := r.Pack()
	if err != nil {
		s.T.Fatalf("pack the reply: %v\n%v", err, r)
	}
	m := new(dns.Msg)
	if err := m.Unpack(wire); err != nil {
		s.T.Fatalf("no client can read the reply: %v\n%v", err, r)
	}
	if s.serials == nil {
		s.serials = make(Serials)
	}
	return s.serials.Format(m)
}

func (s *Scenario) verdicts(string) []byte {
	var out bytes.Buffer
	for _, c := range s.Snapshot().Objects().Clusters {
		for kind := range api.NumKinds {
			for name := range c.Names(kind, "") {
				s.verdict(&out, c.Name, api.Ref{Kind: kind, Name: name})
			}
		}
	}
	return out.Bytes()
}

// verdict writes the status of one object.
func (s *Scenario) verdict(out *bytes.Buffer, cluster string, ref api.Ref) {
	v := s.Snapshot().Verdict(cluster, ref)
	if v == nil {
		return // a child
	}
	if ref.Kind == api.KindDNSPolicy {
		fmt.Fprintf(out, "%s %s records=%d\n", cluster, ref.Name, v.TotalRecords)
	} else {
		fmt.Fprintf(out, "%s %s %s fqdn=%s parent=%s\n", cluster, ref.Kind, ref.Name, v.FQDN, v.Parent)
	}
	writeConditions(out, v)
	for _, r := range v.Records {
		for _, cond := range r.Conditions {
			fmt.Fprintf(out, "  %s %s=%s %s: %s\n", r.Host, cond.Type, cond.Status, cond.Reason, cond.Message)
		}
	}
}

func writeConditions(out *bytes.Buffer, v *api.Verdict) {
	for _, cond := range v.Conditions {
		fmt.Fprintf(out, "  %s=%s %s: %s\n", cond.Type, cond.Status, cond.Reason, cond.Message)
	}
}

// children returns the objects that each policy and each DNSRecord should have.
func (s *Scenario) children(string) []byte {
	var out bytes.Buffer
	snap := s.Snapshot()
	for _, c := range snap.Objects().Clusters {
		var all []api.Child
		for _, kind := range [...]api.Kind{api.KindDNSPolicy, api.KindDNSRecord} {
			for name := range c.Names(kind, "") {
				all = append(all, snap.Children(c.Name, api.Ref{Kind: kind, Name: name})...)
			}
		}
		for _, child := range all {
			fmt.Fprintf(&out, "%s %s %s of %s", c.Name, child.Kind, child.Name, child.Owner.Name)
			if child.Owner.Kind == api.KindDNSRecord {
				out.WriteString(", a DNSRecord")
			}
			if child.Replace {
				out.WriteString(", another one goes")
			}
			out.WriteString("\n")
			if r := child.Record; r != nil {
				fmt.Fprintf(&out, "  rootHost=%s provider=%s/%s zoneID=%s\n", r.RootHost, r.Provider.Kind, r.Provider.Name, r.ZoneID)
				writeEndpoints(&out, r.Endpoints)
			}
			if p := child.Probe; p != nil {
				fmt.Fprintf(&out, "  %s host=%s %s port %d\n", p.Address, p.Host, p.Check.Protocol, p.Check.Port)
			}
		}
	}
	return out.Bytes()
}

func writeEndpoints(out *bytes.Buffer, all []api.WrittenEndpoint) {
	for _, e := range all {
		fmt.Fprintf(out, "  %s. %d %s %s", e.DNSName, e.TTL, e.Type, strings.Join(e.Targets, " "))
		if e.SetID != "" {
			fmt.Fprintf(out, " set %s", e.SetID)
		}
		for _, p := range e.Properties {
			fmt.Fprintf(out, " %s=%s", p.Name, p.Value)
		}
		out.WriteString("\n")
	}
}

// statuses returns the status of the objects that report health.
func (s *Scenario) statuses(string) []byte {
	var out bytes.Buffer
	snap := s.Snapshot()
	for _, c := range snap.Objects().Clusters {
		for name := range c.DNSRecords.All() {
			v, rows := snap.RecordStatus(c.Name, name)
			if v == nil {
				continue
			}
			fmt.Fprintf(&out, "%s %s %s\n", c.Name, api.KindDNSRecord, name)
			writeConditions(&out, v)
			writeEndpoints(&out, rows)
		}
		for name := range c.Probes.All() {
			if st, ok := snap.ProbeStatus(c.Name, name, nil); ok {
				fmt.Fprintf(&out, "%s %s %s healthy=%s failures=%d reason=%q status=%d\n", c.Name, api.KindProbe, name, st.Healthy, st.ConsecutiveFailures, st.Reason, st.Status)
			}
		}
	}
	return out.Bytes()
}

// registry makes the registry hold what a writer would keep now, and returns its lines.
func (s *Scenario) registry(string) []byte {
	lines := s.Keep()
	var out bytes.Buffer
	for _, key := range slices.Sorted(maps.Keys(lines)) {
		o := lines[key]
		fmt.Fprintf(&out, "%s %s %s %s", key, o.Cluster, o.Kind, o.Name)
		if o.Secret != "" {
			out.WriteString(" secret=" + o.Secret)
		}
		out.WriteString("\n")
	}
	return out.Bytes()
}
