package deploy

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/geo"
	"github.com/coredns-kuadrant/kuadrant/internal/boottest"
	"github.com/coredns-kuadrant/kuadrant/internal/corefile"
	"github.com/coredns-kuadrant/kuadrant/internal/doctest"
	"github.com/coredns-kuadrant/kuadrant/internal/inspect"
	"github.com/coredns-kuadrant/kuadrant/internal/kubetest"
	"github.com/coredns-kuadrant/kuadrant/internal/peertest"
	"github.com/coredns-kuadrant/kuadrant/internal/source"
	"github.com/coredns-kuadrant/kuadrant/records"
)

// migratingDoc is docs/migrating.md, and its first Corefile with probes off for manifests in DIR,
// as the cluster local.
type migratingDoc struct {
	text, corefile string
}

func readMigratingDoc(t *testing.T) *migratingDoc {
	t.Helper()
	text, corefiles := deployDoc(t, "migrating.md")
	return &migratingDoc{text: text, corefile: strings.NewReplacer("write-back off\n", "\n", "kuadrant {\n", "kuadrant {\nprobes off\nmanifests DIR local\n").
		Replace(fit(t, corefiles[0], "").text)}
}

// objects writes the objects in the text to a directory.
func (d *migratingDoc) objects(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for i, b := range doctest.YAML.FindAllStringSubmatch(d.text, -1) {
		boottest.WriteFile(t, filepath.Join(dir, fmt.Sprint(i, ".yaml")), b[1])
	}
	return dir
}

// TestMigratingDocGeo: the Corefile names a geo database on the servers, so the kdns commands name
// a local one.
func TestMigratingDocGeo(t *testing.T) {
	commands := regexp.MustCompile(`kdns [a-z]+ [^\n`+"`"+`]*--corefile Corefile[^\n`+"`"+`]*`).
		FindAllString(readMigratingDoc(t).text, -1)
	for _, command := range commands {
		if !strings.Contains(command, " --geoip geo.mmdb") {
			t.Errorf("the Corefile has a line geoip, and not so %s", command)
		}
	}
	if len(commands) < 7 {
		t.Errorf("%d commands", len(commands))
	}
}

// TestMigratingDocObjects: `kdns check` finds no fault in the text's objects, under its first
// Corefile.
func TestMigratingDocObjects(t *testing.T) {
	d := readMigratingDoc(t)
	view := d.compile(t, d.objects(t))
	if len(view.Snapshot.Zones()) == 0 {
		t.Fatal("no zones")
	}
	for _, f := range view.Check(inspect.Setup{Space: view.Locator.(*geo.DB).Space(nil)}) {
		t.Errorf("%+v", f)
	}
}

// compile compiles the objects of a directory under the first Corefile, as kdns does. An object
// that does not count is an error.
func (d *migratingDoc) compile(t *testing.T, dir string) *inspect.View {
	t.Helper()
	file := filepath.Join(t.TempDir(), "Corefile")
	boottest.WriteFile(t, file, strings.NewReplacer("DIR", dir, "probes off\n", "").Replace(d.corefile))
	s, err := corefile.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	db, err := geo.Open(s.GeoIP, s.Nets, nil)
	if err != nil {
		t.Fatal(err)
	}
	cluster, _, err := source.ReadManifests(source.DirectoryOptions{
		Cluster: s.Manifests[0].Cluster, Selection: s.Selection, Logf: t.Errorf, Infof: func(string, ...any) {},
	}, strings.NewReader(""), dir)
	if err != nil {
		t.Fatal(err)
	}
	objects := api.Objects{Clusters: []*api.Cluster{cluster}}
	return &inspect.View{Snapshot: records.Compile(nil, objects, s.Options, time.Now()), Locator: db}
}

// TestMigratingDocAnswers serves the text's objects under its first Corefile.
func TestMigratingDocAnswers(t *testing.T) {
	d := readMigratingDoc(t)
	addr, _ := peertest.RunCoreDNS(t, boottest.CoreDNS(t), strings.Replace(d.corefile, "DIR", d.objects(t), 1))
	boottest.WaitFor(t, "answer", func() bool { return boottest.AskFirst(addr, "api.apps.example.com.") == "192.0.2.20" })
}

// TestMigratingDocIsAccepted has a real API server validate the objects.
func TestMigratingDocIsAccepted(t *testing.T) {
	server := judging(t)
	for _, b := range doctest.YAML.FindAllStringSubmatch(readMigratingDoc(t).text, -1) {
		judge(t, server, "migrating.md", kubetest.Parse(t, b[1]))
	}
}

// TestMigratingDocNameByName: with the second Corefile of docs/migrating.md, the old servers answer
// names that have not moved yet.
func TestMigratingDocNameByName(t *testing.T) {
	_, corefiles := deployDoc(t, "migrating.md")
	at := slices.IndexFunc(corefiles, func(c string) bool { return strings.Contains(c, "fallthrough") })
	if at < 0 || strings.Count(corefiles[at], "198.51.100.54") != 1 {
		t.Fatal("no Corefile that asks the old servers")
	}
	program, dir := boottest.CoreDNS(t), t.TempDir()
	boottest.WriteFile(t, filepath.Join(dir, "old"), "@ 60 IN SOA ns hostmaster 1 3600 600 1209600 60\n@ 60 IN NS ns\nns 60 IN A 192.0.2.1\nnew 60 IN A 192.0.2.2\nold 60 IN A 192.0.2.3\n")
	old, _ := peertest.RunCoreDNS(t, program, "apps.example.com {\nbind 127.0.0.1\nfile "+filepath.Join(dir, "old")+"\n}\n")
	objects := fmt.Sprintf(boottest.Gateway, "new.apps.example.com", "203.0.113.10")
	boottest.WriteFile(t, filepath.Join(dir, "a.yaml"), strings.ReplaceAll(objects, "namespace: ns", "namespace: shop"))
	corefile := strings.NewReplacer("198.51.100.54", old, "write-back off\n", "\n", "kuadrant {\n", "kuadrant {\nmanifests "+dir+"\n").
		Replace(fit(t, corefiles[at], "").text)
	addr, _ := peertest.RunCoreDNS(t, program, corefile)
	for name, want := range map[string]string{"new.apps.example.com.": "203.0.113.10", "old.apps.example.com.": "192.0.2.3"} {
		boottest.WaitFor(t, name, func() bool { return boottest.AskFirst(addr, name) == want })
	}
}

// TestMigratingDocExport runs the filter of docs/migrating.md for Route 53 over a hosted zone, and
// compiles its output.
func TestMigratingDocExport(t *testing.T) {
	if _, err := exec.LookPath("jq"); err != nil {
		t.Skip("jq is not installed: it is in Debian's package jq")
	}
	d := readMigratingDoc(t)
	filter := regexp.MustCompile("(?s)~~~ jq\n(.*?)~~~").FindStringSubmatch(d.text)
	command := regexp.MustCompile(`(?m)^jq .*$`).FindString(d.text)
	if filter == nil || command == "" {
		t.Fatal("no filter, or no command")
	}
	dir := t.TempDir()
	boottest.WriteFile(t, filepath.Join(dir, "route53.jq"), filter[1])
	boottest.WriteFile(t, filepath.Join(dir, "zone.json"), hostedZone)
	export := exec.Command("bash", "-c", command)
	export.Dir = dir
	if out, err := export.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", command, err, out)
	}
	made := filepath.Join(t.TempDir(), "made")
	if err := os.Mkdir(made, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(dir, "route53.json"), filepath.Join(made, "route53.json")); err != nil {
		t.Fatal(err)
	}
	view := d.compile(t, made)
	for _, f := range view.Check(inspect.Setup{}) {
		t.Errorf("%+v", f)
	}
	var names []string
	for n := range view.Snapshot.Names(view.Snapshot.Zones()[0], "", nil) {
		line := fmt.Sprint(n.Name, " ", n.Types)
		if n.Members > 1 {
			x, err := view.Explain(inspect.Question{Name: n.Name})
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range x.Steps[0].Choices[0].Members {
				line += fmt.Sprintf(", %s for %q with %d", m.Member, m.Geo, m.Weight)
			}
		}
		names = append(names, line)
	}
	slices.Sort(names)
	if got := strings.Join(names, "\n"); got != exportedNames {
		t.Errorf("got\n%s\nwant\n%s", got, exportedNames)
	}
}

// hostedZone is Route 53's output for a zone with records of every form that the filter handles,
// and of those that it leaves out.
const hostedZone = `{"ResourceRecordSets": [
{"Name": "apps.example.com.", "Type": "NS", "TTL": 172800, "ResourceRecords": [{"Value": "ns-1.example.net."}]},
{"Name": "apps.example.com.", "Type": "SOA", "TTL": 900, "ResourceRecords": [{"Value": "ns-1.example.net. hostmaster.example.net. 1 7200 900 1209600 86400"}]},
{"Name": "apps.example.com.", "Type": "A", "AliasTarget": {"HostedZoneId": "Z1", "DNSName": "lb.example.net.", "EvaluateTargetHealth": false}},
{"Name": "apps.example.com.", "Type": "MX", "TTL": 300, "ResourceRecords": [{"Value": "10 mail.example.net"}]},
{"Name": "\\052.dev.apps.example.com.", "Type": "A", "TTL": 60, "ResourceRecords": [{"Value": "192.0.2.40"}]},
{"Name": "sub.apps.example.com.", "Type": "NS", "TTL": 300, "ResourceRecords": [{"Value": "ns.example.net."}]},
{"Name": "www.apps.example.com.", "Type": "CNAME", "TTL": 60, "ResourceRecords": [{"Value": "shop.apps.example.com"}]},
{"Name": "shop.apps.example.com.", "Type": "A", "SetIdentifier": "eu", "GeoLocation": {"ContinentCode": "EU"}, "TTL": 60, "ResourceRecords": [{"Value": "192.0.2.10"}]},
{"Name": "shop.apps.example.com.", "Type": "A", "SetIdentifier": "ca", "GeoLocation": {"CountryCode": "US", "SubdivisionCode": "CA"}, "TTL": 60, "ResourceRecords": [{"Value": "192.0.2.11"}]},
{"Name": "shop.apps.example.com.", "Type": "A", "SetIdentifier": "all", "GeoLocation": {"CountryCode": "*"}, "TTL": 60, "ResourceRecords": [{"Value": "192.0.2.12"}]},
{"Name": "blue.apps.example.com.", "Type": "A", "SetIdentifier": "one", "Weight": 3, "TTL": 60, "ResourceRecords": [{"Value": "192.0.2.13"}]},
{"Name": "blue.apps.example.com.", "Type": "A", "SetIdentifier": "two", "Weight": 0, "TTL": 60, "ResourceRecords": [{"Value": "192.0.2.14"}]},
{"Name": "many.apps.example.com.", "Type": "A", "SetIdentifier": "m1", "MultiValueAnswer": true, "TTL": 60, "ResourceRecords": [{"Value": "192.0.2.15"}]},
{"Name": "many.apps.example.com.", "Type": "A", "SetIdentifier": "m2", "MultiValueAnswer": true, "TTL": 60, "ResourceRecords": [{"Value": "192.0.2.16"}]},
{"Name": "near.apps.example.com.", "Type": "A", "SetIdentifier": "l", "Region": "eu-west-1", "TTL": 60, "ResourceRecords": [{"Value": "192.0.2.17"}]},
{"Name": "over.apps.example.com.", "Type": "A", "SetIdentifier": "f", "Failover": "PRIMARY", "HealthCheckId": "h", "TTL": 60, "ResourceRecords": [{"Value": "192.0.2.18"}]},
{"Name": "kuadrant-a-shop.apps.example.com.", "Type": "TXT", "TTL": 300, "ResourceRecords": [{"Value": "\"heritage=external-dns,external-dns/owner=one\""}]}
]}`

// exportedNames are the names in the filter's output, with their types and members.
const exportedNames = `*.dev.apps.example.com [A]
apps.example.com [NS SOA MX]
blue.apps.example.com [A], one for "*" with 3, two for "*" with 0
many.apps.example.com [A]
ns1.apps.example.com [A]
ns2.apps.example.com [A]
shop.apps.example.com [A], eu for "GEO-EU" with 1, ca for "US-CA" with 1, all for "*" with 1
sub.apps.example.com [NS]
www.apps.example.com [CNAME]`
