package deploy

import (
	"fmt"
	"maps"
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
	"github.com/coredns-kuadrant/kuadrant/internal/engine"
	"github.com/coredns-kuadrant/kuadrant/internal/inspect"
	"github.com/coredns-kuadrant/kuadrant/internal/kubetest"
	"github.com/coredns-kuadrant/kuadrant/internal/peertest"
	"github.com/coredns-kuadrant/kuadrant/internal/source"
	"github.com/coredns-kuadrant/kuadrant/records"
)

// migratingFrom are the texts about moving here, by what it is from.
var migratingFrom = []string{"kuadrant", "k8s-gateway", "k8gb", "etcd", "route53"}

// migratingTexts are their names, with that of the text that leads to them.
func migratingTexts() []string {
	texts := []string{"migrating.md"}
	for _, from := range migratingFrom {
		texts = append(texts, "migrating-"+from+".md")
	}
	return texts
}

// migratingDoc is one of them.
type migratingDoc struct {
	text      string
	corefiles []string
	// dirs has the objects that it shows, in a directory for each cluster.
	dirs map[string]string
}

// clusterComment is the first line of objects of another cluster than the only one.
var clusterComment = regexp.MustCompile(`^# cluster (\w+)\n`)

func readMigratingDoc(t *testing.T, from string) *migratingDoc {
	t.Helper()
	d := &migratingDoc{dirs: make(map[string]string)}
	d.text, d.corefiles = deployDoc(t, "migrating-"+from+".md")
	top := t.TempDir()
	for i, b := range doctest.YAML.FindAllStringSubmatch(d.text, -1) {
		cluster := engine.LocalCluster
		if m := clusterComment.FindStringSubmatch(b[1]); m != nil {
			cluster = m[1]
		}
		d.dirs[cluster] = filepath.Join(top, cluster)
		if err := os.MkdirAll(d.dirs[cluster], 0o755); err != nil {
			t.Fatal(err)
		}
		boottest.WriteFile(t, filepath.Join(d.dirs[cluster], fmt.Sprint(i, ".yaml")), b[1])
	}
	if len(d.dirs) == 0 {
		t.Fatalf("no objects in the text about %s", from)
	}
	return d
}

// clusterLine finds what reads one more cluster.
var clusterLine = regexp.MustCompile(`(?m)^( *)cluster (\w+) \S+\.kubeconfig$`)

// corefile returns the first Corefile, over the objects in files, with targets that are all up.
func (d *migratingDoc) corefile(t *testing.T) string {
	t.Helper()
	text, lines := strings.Replace(fit(t, d.corefiles[0], "").text, "write-back off\n", "\n", 1), "probes off\n"
	for _, cluster := range slices.Sorted(maps.Keys(d.dirs)) {
		lines += "manifests " + d.dirs[cluster] + " " + cluster + "\n"
	}
	text = clusterLine.ReplaceAllStringFunc(text, func(line string) string {
		if d.dirs[clusterLine.FindStringSubmatch(line)[2]] == "" {
			t.Errorf("there are no objects of the cluster in %q", line)
		}
		return ""
	})
	return strings.Replace(text, "kuadrant {\n", "kuadrant {\n"+lines, 1)
}

// TestMigratingDocGeo: where a Corefile of a text names a geo database, which is on the servers, the commands of kdns name one of
// their own, and else none.
func TestMigratingDocGeo(t *testing.T) {
	commands := regexp.MustCompile(`kdns [a-z]+ [^\n` + "`" + `]*--corefile Corefile[^\n` + "`" + `]*`)
	found := 0
	for _, name := range migratingTexts() {
		text, corefiles := deployDoc(t, name)
		geo := strings.Contains(corefiles[0], "\n        geoip /")
		for _, command := range commands.FindAllString(text, -1) {
			found++
			if geo != strings.Contains(command, " --geoip geo.mmdb") {
				t.Errorf("docs/%s: the Corefile has a line geoip: %t, and not so %s", name, geo, command)
			}
		}
	}
	if found < 12 {
		t.Errorf("%d commands", found)
	}
}

// TestMigratingDocObjects: what `kdns check` does finds nothing in the objects that the texts show,
// under their first Corefile.
func TestMigratingDocObjects(t *testing.T) {
	for _, from := range migratingFrom {
		t.Run(from, func(t *testing.T) {
			d := readMigratingDoc(t, from)
			view := d.compile(t)
			if len(view.Snapshot.Zones()) == 0 {
				t.Fatal("no zones")
			}
			for _, f := range view.Check(inspect.Setup{Space: view.Locator.(*geo.DB).Space(nil)}) {
				t.Errorf("%+v", f)
			}
		})
	}
}

// compile compiles the objects under the first Corefile, as kdns does. What does not count of them is an error.
func (d *migratingDoc) compile(t *testing.T) *inspect.View {
	t.Helper()
	file := filepath.Join(t.TempDir(), "Corefile")
	boottest.WriteFile(t, file, d.corefile(t))
	s, err := corefile.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	db, err := geo.Open(s.GeoIP, s.Nets, nil)
	if err != nil {
		t.Fatal(err)
	}
	var clusters []*api.Cluster
	for _, m := range s.Manifests {
		c, _, err := source.ReadManifests(source.DirectoryOptions{
			Cluster: m.Cluster, Selection: s.Selection, Logf: t.Errorf, Infof: func(string, ...any) {},
		}, strings.NewReader(""), m.Dir)
		if err != nil {
			t.Fatal(err)
		}
		clusters = append(clusters, c)
	}
	slices.SortFunc(clusters, func(a, b *api.Cluster) int { return strings.Compare(a.Name, b.Name) })
	return &inspect.View{Snapshot: records.Compile(nil, api.Objects{Clusters: clusters}, s.Options, time.Now()), Locator: db}
}

// TestMigratingDocAnswers serves the objects of each text under its first Corefile, and types what it says
// to ask.
func TestMigratingDocAnswers(t *testing.T) {
	if _, err := exec.LookPath("dig"); err != nil {
		t.Skip("dig is not installed: it is in Debian's package bind9-dnsutils")
	}
	program := boottest.CoreDNS(t)
	for _, from := range migratingFrom {
		t.Run(from, func(t *testing.T) {
			d := readMigratingDoc(t, from)
			addr, _ := peertest.RunCoreDNS(t, program, d.corefile(t))
			boottest.WaitFor(t, "answer", func() bool { return boottest.AskFirst(addr, "shop.apps.example.com.") != "" })
			typeAll(t, d.text, 2, strings.NewReplacer("@192.0.2.53", digs(addr)))
		})
	}
}

// TestMigratingDocIsAccepted lets a real API server judge the objects.
func TestMigratingDocIsAccepted(t *testing.T) {
	server := judging(t)
	for _, from := range migratingFrom {
		d := readMigratingDoc(t, from)
		for _, b := range doctest.YAML.FindAllStringSubmatch(d.text, -1) {
			judge(t, server, from, kubetest.Parse(t, b[1]))
		}
	}
}

// TestMigratingDocNameByName: with the second Corefile of docs/migrating.md, names that are not here yet are
// answered by the old servers.
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

// TestMigratingDocExport runs the filter of docs/migrating-route53.md over a hosted zone, and compiles what it makes.
func TestMigratingDocExport(t *testing.T) {
	if _, err := exec.LookPath("jq"); err != nil {
		t.Skip("jq is not installed: it is in Debian's package jq")
	}
	d := readMigratingDoc(t, "route53")
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
	d.dirs = map[string]string{engine.LocalCluster: made}
	view := d.compile(t)
	for _, f := range view.Check(inspect.Setup{}) {
		t.Errorf("%+v", f)
	}
	var names []string
	for n := range view.Snapshot.Names(view.Snapshot.Zones()[0], "", "") {
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

// TestMigratingDocIndex: docs/migrating.md leads to each text, and each back to it, with what has to be in it.
func TestMigratingDocIndex(t *testing.T) {
	index, _ := deployDoc(t, "migrating.md")
	if texts, err := filepath.Glob("docs/migrating*.md"); err != nil || len(texts) != 1+len(migratingFrom) {
		t.Fatalf("%q, %v", texts, err)
	}
	for _, from := range migratingFrom {
		name := "migrating-" + from + ".md"
		text, _ := deployDoc(t, name)
		if !strings.Contains(index, "("+name+")") {
			t.Errorf("docs/migrating.md does not lead to %s", name)
		}
		for _, want := range []string{"(migrating.md", "## What you have", "## The Corefile", "## Steps", "## See that it works", "## What differs", "## Back", "kdns check", "kdns compare"} {
			if !strings.Contains(text, want) {
				t.Errorf("docs/%s lacks %q", name, want)
			}
		}
	}
}

// hostedZone is what Route 53 says of a zone with records of every form that the filter knows, and of those that
// it leaves out.
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

// exportedNames are the names that come of it, with their types, and with their members.
const exportedNames = `*.dev.apps.example.com [A]
apps.example.com [NS SOA MX]
blue.apps.example.com [A], one for "*" with 3, two for "*" with 0
many.apps.example.com [A]
ns1.apps.example.com [A]
ns2.apps.example.com [A]
shop.apps.example.com [A], eu for "GEO-EU" with 1, ca for "US-CA" with 1, all for "*" with 1
sub.apps.example.com [NS]
www.apps.example.com [CNAME]`
