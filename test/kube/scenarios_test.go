package kube

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/coredns/caddy"
	clog "github.com/coredns/coredns/plugin/pkg/log"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/internal/corefile"
	"github.com/coredns-kuadrant/kuadrant/internal/engine"
	"github.com/coredns-kuadrant/kuadrant/internal/kubetest"
	"github.com/coredns-kuadrant/kuadrant/records"
	"github.com/coredns-kuadrant/kuadrant/records/recordstest"

	"github.com/coredns-kuadrant/kuadrant/internal/boottest"
)

// serverScenarios are scenarios whose objects an API server accepts.
var serverScenarios = []string{"server_d", "server_e", "server_j", "server_l", "d_life", "endpoints_types"}

// TestScenariosOnServer plays scenarios with a real API server for each cluster, and with a writer:
// the status of objects must match the verdicts. The tests of records check the verdicts
// themselves: here the API server sets the age of objects.
func TestScenariosOnServer(t *testing.T) {
	servers := make(map[string]*kubetest.Server)
	for _, name := range []string{"c1", "c2"} {
		servers[name] = boottest.APIServer(t)
	}
	for i, name := range serverScenarios {
		t.Run(name, func(t *testing.T) {
			archive, err := txtar.ParseFile(filepath.Join("testdata", name+".txtar"))
			if err != nil {
				t.Fatal(err)
			}
			file := &recordstest.Scenario{T: t, Archive: archive}
			s := &serverScenario{t: t, file: file, servers: servers, lease: fmt.Sprint("scenario-", i), written: make(map[string][]*unstructured.Unstructured), dirty: true}
			file.Stage = s
			s.play()
			if name == "server_d" {
				boottest.WaitFor(t, "Event about the conflict", func() bool {
					return hasEvent(t, servers["c1"], "q", "Conflicted", "one.example.com: the host belongs to ")
				})
			}
		})
	}
}

// serverScenario is one file being played with API servers.
type serverScenario struct {
	recordstest.Stage
	t       *testing.T
	file    *recordstest.Scenario
	servers map[string]*kubetest.Server // by the file's names of clusters; clusters not in it do not count
	lease   string
	written map[string][]*unstructured.Unstructured // by the name of the section
	engine  *engine.Engine
	dirty   bool
	step    int
}

// Snapshot implements recordstest.Stage, as Settle does; no section that needs other methods is
// played.
func (s *serverScenario) Snapshot() *records.Snapshot { return s.engine.Snapshot() }

// clusters returns the names of the clusters in the file.
func (s *serverScenario) clusters() (names []string) {
	for _, f := range s.file.Archive.Files {
		if cluster, _, ok := strings.Cut(f.Name, "/"); ok && !slices.Contains(names, cluster) {
			names = append(names, cluster)
		}
	}
	slices.Sort(names)
	return names
}

func (s *serverScenario) play() {
	for _, f := range s.file.Archive.Files {
		switch f.Name {
		case "corefile", "nets", "children", "ask", "status": // not objects
		case "verdicts":
			s.Settle()
			s.isWritten()
		case "pools", "groups", "dnssec":
			s.t.Fatalf("no section %s is played with servers", f.Name)
		default:
			s.apply(f)
		}
	}
	s.Settle()
	s.isWritten()
}

// apply writes the objects of a section, and deletes those that it had before.
func (s *serverScenario) apply(f txtar.File) {
	s.t.Helper()
	s.dirty = true
	cluster, _, _ := strings.Cut(f.Name, "/")
	server := s.servers[cluster]
	objects := kubetest.Parse(s.t, string(s.file.Content(f)))
	for _, old := range s.written[f.Name] {
		if !slices.ContainsFunc(objects, func(o *unstructured.Unstructured) bool { return sameObject(o, old) }) {
			if err := server.Resource(s.t, old).Delete(s.t.Context(), old.GetName(), metav1.DeleteOptions{}); err != nil {
				s.t.Fatal(err)
			}
		}
	}
	for _, o := range objects {
		o.SetUID("")
		o.SetCreationTimestamp(metav1.Time{})
		text, err := o.MarshalJSON()
		if err != nil {
			s.t.Fatal(err)
		}
		server.Apply(s.t, string(text))
	}
	s.written[f.Name] = objects
}

// besides is the prefix of the names of the clusters besides the main one.
const besides = "zz-"

func sameObject(a, b *unstructured.Unstructured) bool {
	return a.GroupVersionKind().GroupKind() == b.GroupVersionKind().GroupKind() && a.GetNamespace() == b.GetNamespace() && a.GetName() == b.GetName()
}

// Settle implements recordstest.Stage: it waits until everything written is known.
func (s *serverScenario) Settle() {
	s.t.Helper()
	if !s.dirty {
		return
	}
	s.dirty = false
	s.step++
	marker := fmt.Sprintf("step-%d", s.step)
	for _, cluster := range s.clusters() {
		s.servers[cluster].Apply(s.t, "{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, metadata: {namespace: zz-scenario, name: "+marker+
			"}, spec: {gatewayClassName: x, listeners: [{name: x, port: 80, protocol: TCP}]}}")
	}
	if s.engine == nil {
		s.start()
	}
	boottest.WaitFor(s.t, "objects of "+marker, func() bool {
		snap := s.engine.Snapshot()
		return s.engine.Ready() && !slices.ContainsFunc(snap.Objects().Clusters, func(c *api.Cluster) bool {
			_, ok := c.Gateways.Get("zz-scenario/" + marker)
			return !ok
		})
	})
}

// start starts an engine with a writer for the API servers.
func (s *serverScenario) start() {
	s.t.Helper()
	directive := strings.TrimSpace(s.file.Section("corefile", "kuadrant example.com"))
	if !strings.HasSuffix(directive, "}") {
		directive += " {\n}"
	}
	more := "lease default/" + s.lease + "\nguard 0\n"
	for _, cluster := range s.clusters() {
		if file := s.servers[cluster].Kubeconfig; cluster == "c1" {
			more += "kubeconfig " + file + "\n"
		} else {
			more += "cluster " + besides + cluster + " " + file + "\n"
		}
	}
	cfg := new(engine.Options)
	if _, err := corefile.Parse(caddy.NewTestController("dns", strings.TrimSuffix(directive, "}")+more+"}"), cfg); err != nil {
		s.t.Fatal(err)
	}
	s.engine = engine.New(clog.NewWithPlugin("kuadrant"), nil)
	if err := s.engine.Configure(cfg, nil); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(s.engine.Stop)
}

// isWritten waits until the status of each object with a verdict matches it.
func (s *serverScenario) isWritten() {
	s.t.Helper()
	different := ""
	defer func() {
		if different != "" {
			s.t.Log(different)
		}
	}()
	boottest.WaitFor(s.t, "status as the verdicts say", func() bool {
		different = s.different()
		return different == ""
	})
}

// different returns a status that does not match the verdict; "" for none.
func (s *serverScenario) different() string {
	snap := s.engine.Snapshot()
	for _, c := range snap.Objects().Clusters {
		server := s.servers["c1"]
		if other, ok := strings.CutPrefix(c.Name, besides); ok {
			server = s.servers[other]
		}
		for kind, apiVersion := range map[api.Kind]string{
			api.KindDNSPolicy: "kuadrant.io/v1", api.KindDNSRecord: "kuadrant.io/v1alpha1", api.KindZone: "kubi.zone/v1alpha1", api.KindRecord: "kubi.zone/v1alpha1",
		} {
			for name := range c.Names(kind, "") {
				said := s.engine.SaysOf(snap, c.Name).Of(api.Ref{Kind: kind, Name: name})
				if said == nil {
					continue
				}
				ns, bare, _ := strings.Cut(name, "/")
				written := boottest.Object(s.t, server, apiVersion, kind.String(), ns, bare)
				if want, got := verdictWords(kind, said.Verdict), standingWords(written); want != got {
					return fmt.Sprintf("%s %s %s says\n%s\nand not\n%s", c.Name, kind, name, got, want)
				}
			}
		}
	}
	return ""
}

// verdictWords returns a verdict as lines.
func verdictWords(kind api.Kind, v *api.Verdict) string {
	var out bytes.Buffer
	line := func(host string, list []api.Condition) {
		for _, c := range list {
			fmt.Fprintf(&out, "%s %s=%s %s: %s\n", host, c.Type, c.Status, c.Reason, c.Message)
		}
	}
	line("", v.Conditions)
	for _, r := range v.Records {
		line(r.Host, r.Conditions)
	}
	switch kind {
	case api.KindDNSPolicy:
		fmt.Fprintf(&out, "records=%d\n", v.TotalRecords)
	case api.KindZone, api.KindRecord:
		fmt.Fprintf(&out, "fqdn=%s\n", v.FQDN)
	}
	return sortedLines(out.String())
}

// standingWords returns the same for an object's status.
func standingWords(o *unstructured.Unstructured) string {
	if o == nil {
		return ""
	}
	var out bytes.Buffer
	line := func(host string, list any) {
		all, _ := list.([]any)
		for _, c := range all {
			if m, ok := c.(map[string]any); ok {
				fmt.Fprintf(&out, "%s %s=%s %s: %s\n", host, m["type"], m["status"], m["reason"], m["message"])
			}
		}
	}
	status, _, _ := unstructured.NestedMap(o.Object, "status")
	line("", status["conditions"])
	records, _ := status["recordConditions"].(map[string]any)
	for host, list := range records {
		line(host, list)
	}
	switch o.GetKind() {
	case "DNSPolicy":
		total, _ := status["totalRecords"].(int64)
		fmt.Fprintf(&out, "records=%d\n", total)
	case "Zone", "Record":
		fqdn, _ := status["fqdn"].(string)
		fmt.Fprintf(&out, "fqdn=%s\n", fqdn)
	}
	return sortedLines(out.String())
}

func sortedLines(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// hasEvent reports whether an object has such an Event.
func hasEvent(t *testing.T, server *kubetest.Server, object, reason, begins string) bool {
	t.Helper()
	list, err := server.Resource(t, boottest.Ref("v1", "Event", "default")).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list.Items {
		name, _, _ := unstructured.NestedString(e.Object, "involvedObject", "name")
		why, _, _ := unstructured.NestedString(e.Object, "reason")
		message, _, _ := unstructured.NestedString(e.Object, "message")
		if name == object && why == reason && strings.HasPrefix(message, begins) {
			return true
		}
	}
	return false
}
