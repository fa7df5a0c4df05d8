package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/coredns-kuadrant/kuadrant/internal/console"
	"github.com/coredns-kuadrant/kuadrant/internal/inspect"
	"github.com/coredns-kuadrant/kuadrant/records"
)

type result struct {
	code      int
	out, errs string
}

// kdns runs the program in the module's root, as in a checkout.
func kdns(t *testing.T, stdin string, args ...string) result {
	t.Helper()
	var out, errs bytes.Buffer
	code := run(t.Context(), append([]string{"kdns"}, args...), strings.NewReader(stdin), &out, &errs)
	return result{code, out.String(), errs.String()}
}

// TestExplainArguments: explain reports members used while down as failing open, and does not show addresses of one name
// as a chain.
func TestExplainArguments(t *testing.T) {
	text := manifests(t, `gateway shop/a host=a.k.example.com addr=192.0.2.1 override=down
policy shop/a weight=1 geo=GEO-EU default
gateway shop/b host=b.k.example.com addr=192.0.2.2 override=down
policy shop/b
dnsrecord shop/c root=c.k.example.com served=k.example.com
    c.k.example.com A 192.0.2.3 set=x weight=1
`)
	for name, want := range map[string]string{
		"a": "  all members that may answer are down: failing open, the nearest first\n",
		"b": "192.0.2.2: forced down (the operator says down), failing open\n", "c": "answered as flatten\n",
	} {
		kdns(t, text, "explain", name+".k.example.com", "-f", "-", "--zone", "k.example.com").expect(t, name, 0, want)
	}
}

// inRoot changes the working directory to the module's root.
func inRoot(t *testing.T) { t.Chdir(filepath.Join("..", "..")) }

func writeFile(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

const example = "--corefile=Corefile.example"

// TestCommands runs commands on the examples and checks the exit code and parts of the output.
func TestCommands(t *testing.T) {
	inRoot(t)
	dir := t.TempDir()
	broken := writeFile(t, dir+"/broken/x.yaml", "kind: [\n")
	odd := writeFile(t, dir+"/Corefile", "k.example.com {\n  kuadrant {\n    manifests nowhere\n  }\n}\n")
	none := writeFile(t, dir+"/None", ". {\n  whoami\n}\n")
	for _, c := range []struct {
		args string
		code int
		want []string // in stdout if the code is 0 or 1, else in stderr
	}{
		{"explain shop.k.example.com --from 198.51.100.7 " + example, 0, []string{
			"> 1mvi9v-1prjov.klb.shop.k.example.com",
			"in US, GEO-NA (198.51.100.0/25)", "198.51.100.10: not checked",
		}},
		{"explain shop.k.example.com --from 2001:db8:100::/48 " + example, 0, []string{"> v5128t-1prjov.klb.shop.k.example.com", "192.0.2.11"}},
		{"explain nothing.k.example.com " + example, 1, []string{"the name does not exist", "NXDOMAIN"}},
		{"explain shpo.k.example.com " + example, 1, []string{
			"NXDOMAIN", "!warning: shpo.k.example.com does not exist; near it: shop.k.example.com\n",
		}},
		{"explain shop --server 127.0.0.1:1", 3, []string{"no answer from http://127.0.0.1:1: connection refused; check that the server runs"}},
		{"explain shop.k.example.com --from DE " + example, 0, []string{"in DE, GEO-EU ("}},
		{"explain shop.k.example.com --from geo-eu " + example, 0, []string{", GEO-EU ("}},
		{
			"explain shop.k.example.com -f examples/eu -f examples/na --zone k.example.com --geoip examples/geo.mmdb --from 198.51.100.7", 0,
			[]string{"> 1mvi9v-1prjov"},
		},
		{"explain shop.k.example.com -f x=examples/eu --zone k.example.com", 0, []string{"in cluster x"}},
		{"list zones " + example, 0, []string{"ZONE ", "dev.zone.example.org", "every namespace"}},
		{"list names shop " + example, 0, []string{"shop.k.example.com     A,CNAME  chain   3 not checked"}},
		{"list names shpo " + example, 0, []string{"no names; near it: shop.k.example.com"}},
		{"explain shpo " + example, 2, []string{"; near it: shop.k.example.com"}},
		{"list names --in zone.example.org --state contended " + example, 0, []string{"no names"}},
		{"list targets " + example, 0, []string{"FAILURES  DOWN AFTER", "http://127.0.0.21:8081/healthz", "not checked  0         2 "}},
		{"list conflicts " + example, 0, []string{"no conflicts"}},
		{"preview -f examples/eu " + example, 0, []string{"nothing changes"}},
		{"check " + example, 0, []string{"nothing is wrong"}},
		{"check -f eu=examples/eu -f na=examples/na --zone k.example.com", 1, nil},
		{"check " + example + " --server http://localhost:1", 2, []string{"check reads manifests"}},
		{"--version", 0, []string{"kdns version"}},
		{"completion bash", 0, []string{"bash completion"}},
		{"explain --help", 0, []string{"Explain the answer that a client gets", "Examples:"}},

		{"explain a.example.org " + example, 2, []string{"name: a.example.org is in no zone served here; the zones are"}},
		{"explain shop " + example, 2, []string{"; near it: shop.k.example.com, shop.zone.example.org\n"}},
		{"explain shop.k.exmaple.com " + example, 2, []string{"; near it: shop.k.example.com\n"}},
		{"explain shop.k.example.com --from AQ " + example, 0, []string{"for a client in AQ, GEO-AN"}},
		{"explain shop.k.example.com --from uk " + example, 2, []string{`the geo code "uk" matches no client: `, "GB"}},
		{"explain x --zone x -f examples/eu --from FR", 2, []string{"no geo database to find a network of FR in"}},
		{"explain shop.k.example.com --type NONE " + example, 2, []string{`--type: "NONE" is not a type`}},
		{"explain shop.k.example.com --from x " + example, 2, []string{`--from: "x" is neither an address nor a network`}},
		{"explain " + example, 2, []string{"accepts 1 arg(s), received 0; write kdns explain NAME [flags], or see kdns " +
			"explain --help"}},
		{"list zoness " + example, 2, []string{`unknown command "zoness" for "kdns list"; write zones, or see kdns list --help`}},
		{"list nmaes " + example, 2, []string{`"nmaes" for "kdns list"; write names, or see`}},
		{"explan x", 2, []string{`unknown command "explan" for "kdns"; write explain, or see kdns --help` + "\n"}},
		{"help lits", 2, []string{`unknown command "lits" for "kdns"; write list, or see kdns --help`}},
		{"explain x --form FR", 2, []string{"unknown flag: --form; write --from, or see kdns explain --help"}},
		{"compare " + example, 2, []string{"kdns: name the server; write kdns compare SERVER [NAME...] [flags], or see"}},
		{"preview -f nowhere " + example, 3, []string{"read manifests: stat nowhere: no such file or directory"}},
		{"explain x", 2, []string{
			"nothing to read, and no file ./Corefile; set --corefile FILE, --server URL, or -f PATH and --zone NAME",
		}},
		{"preview -f examples/eu", 2, []string{
			"no file ./Corefile; set --corefile FILE, --server URL, or --against PATH and --zone NAME",
		}},
		{"check -f examples/eu", 2, []string{"no zones to serve; set --corefile FILE or --zone NAME"}},
		{"explain x --zone x", 2, []string{"no objects to read; set -f DIR"}},
		{"explain x --zone a..b -f examples/eu", 2, []string{`--zone: name: "a..b" is not a domain name`}},
		{"explain x --zone x " + example, 2, []string{"are mutually exclusive"}},
		{"explain x -f = " + example, 2, []string{"write PATH or CLUSTER=PATH"}},
		{"list " + example, 2, []string{"name what to list: zones, names, targets or conflicts; see"}},
		{"list names --state bad " + example, 2, []string{"is none of failing"}},
		{"list zones -o xml " + example, 2, []string{`--output "xml" must be one of table, json, yaml`}},
		{"list zones --nix", 2, []string{"unknown flag: --nix"}},
		{"nix", 2, []string{`unknown command "nix" for "kdns"; see kdns --help`}},
		{"completion", 2, []string{"kdns: name the shell: bash, zsh, fish or powershell; see kdns completion --help"}},
		{"completion tcsh", 2, []string{
			`unknown command "tcsh" for "kdns completion"; write bash or fish or zsh, or see kdns completion --help`,
		}},
		{"completion bash x", 2, []string{`unknown command "x" for "kdns completion bash"; write kdns completion bash`}},
		{"help nope", 2, []string{`unknown command "nope" for "kdns"`}},
		{"help list nope", 2, []string{`unknown command "nope" for "kdns list"; see kdns list --help`}},
		{"help", 0, []string{"Available Commands:"}},
		{"help list names", 0, []string{"kdns list names [PART] [flags]", "--state"}},
		{"preview " + example, 2, []string{"name the manifests"}},
		{"preview -f eu=/dev/null " + example, 3, []string{"neither a file nor a directory"}},
		{"preview -f examples/geo.mmdb --cluster x " + example, 2, []string{`--cluster "x" does not exist; clusters are eu, na`}},
		{"preview -f examples/offices.nets " + example, 2, []string{"name the cluster"}},
		{"preview -f x=examples/eu " + example, 2, []string{"-f x=examples/eu: no such cluster; clusters are eu, na"}},
		{"preview -f examples/eu --cluster na --prune " + example, 1, nil},
		{"preview -f examples/eu --against HTTP://127.0.0.1:1", 3, []string{"no answer from http://127.0.0.1:1"}},
		{
			"preview -f examples/eu --against examples/eu --zone k.example.com --token-file nowhere", 2,
			[]string{"--token-file needs --server URL"},
		},
		{"preview -f eu=examples/eu --cluster na " + example, 2, []string{"-f eu=examples/eu and --cluster na name two clusters; remove one of them"}},
		{"preview -f x --against http://a --server http://b", 2, []string{"--against is either one server or manifests"}},
		{"list zones --server ftp://localhost:8090", 2, []string{`"ftp://localhost:8090" is not the URL of a console`}},
		{"list zones --server http://localhost:8090 " + example, 2, []string{"remove --server, or remove -f"}},

		{"list zones --corefile examples", 3, []string{"read Corefile: examples is a directory; name the file\n"}},
		{"list zones --token-file nowhere " + example, 2, []string{"--token-file is for a server and --corefile for manifests; remove one of them"}},
		{"list zones --corefile nowhere", 3, []string{"read Corefile: open nowhere: no such file"}},
		{"list zones --corefile " + odd, 3, []string{odd + ":3 - Error during parsing: manifests: open directory: stat nowhere"}},
		{"list zones --corefile " + none, 3, []string{"has no directive kuadrant"}},
		{"list zones --geoip nowhere " + example, 3, []string{`open geo database "nowhere"`}},
		{"list zones --server http://127.0.0.1:1", 3, []string{"no answer from http://127.0.0.1:1"}},
		{"list zones --server http://127.0.0.1:1 --token-file nowhere", 3, []string{"read token: open nowhere"}},
		{"list zones --token-file nowhere --zone k.example.com -f examples/eu", 2, []string{"--token-file needs --server URL"}},
		{"check --live= " + example, 2, []string{"--live needs the name of a zone"}},
		{"preview -f - --against - --zone k.example.com", 2, []string{"-f - and --against - both read standard input"}},
		{
			"list zones --server http://127.0.0.1:1 --token-file Makefile", 3,
			[]string{"token file Makefile must be one line of printable ASCII characters"},
		},
		{"list zones -f nowhere --zone k.example.com", 3, []string{"kdns: read manifests: stat nowhere: no such file or directory\n"}},
		{"explain x.k.example.com -f eu=examples/eu -f eu=nowhere --zone k.example.com", 3, []string{"stat nowhere"}},
		{"check -f nowhere --zone k.example.com", 3, []string{"stat nowhere"}},
		{"preview -f examples/eu --against nowhere --zone k.example.com", 3, []string{"stat nowhere"}},
		{"preview -f " + broken + " " + example + " --cluster eu", 3, []string{"x.yaml: line 1: not YAML: "}},
		{"preview -f examples/geo.mmdb " + example + " --cluster eu", 3, []string{
			"examples/geo.mmdb: document at line 1: not YAML: control",
		}},
	} {
		got := kdns(t, "", strings.Fields(c.args)...)
		for i := range c.want {
			if c.code > 1 {
				c.want[i] = "!" + c.want[i]
			}
		}
		got.expect(t, c.args, c.code, c.want...)
		if c.code >= 2 && got.out != "" {
			t.Errorf("%s: writes to the standard output:\n%s", c.args, got.out)
		}
	}
}

// TestDefaultCorefile: without flags, ./Corefile is read, and errors name it.
func TestDefaultCorefile(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, dir+"/Corefile", "k.example.com {\n  kuadrant {\n    manifests objects\n  }\n}\n")
	writeFile(t, dir+"/objects/a.yaml", manifests(t, previewed))
	t.Chdir(dir)
	const told = "reading ./Corefile, as no flag names anything else\n"
	for args, want := range map[string]string{
		"list zones":                       "0 k.example.com",
		"check":                            "1 (NoGeoDatabase)",
		"preview -f objects":               "0 nothing changes",
		"explain www.k.example.com -t TXT": "0 NOERROR",
		"explain www.example.com":          "2 !" + told,
		"list names --in example.com":      "2 !" + told,
		"list names -f objects":            "2 !no zones to serve",
	} {
		got := kdns(t, "", strings.Fields(args)...)
		got.expect(t, args, int(want[0]-'0'), want[2:])
		if strings.Contains(got.errs, "reading ./Corefile") != strings.HasSuffix(want, told) {
			t.Errorf("%s: %s", args, got.errs)
		}
	}
}

// TestCheck: each finding names its file or object, and a summary follows.
func TestCheck(t *testing.T) {
	inRoot(t)
	dir := t.TempDir()
	writeFile(t, dir+"/b.yaml", "a: [\n")
	writeFile(t, dir+"/c.yaml", "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n")
	got := kdns(t, "", "check", "-f", "eu=examples/eu", "-f", "eu="+dir, "--zone", "k.example.com")
	if got.expect(t, dir, 1, "error: "+dir+"/b.yaml: line 1: ", "(Unread)", "error: Zone dns/zone in cluster eu: Ready=False (NotServed)",
		"warning: "+dir+"/c.yaml: ignoring objects of kinds", "(LeftOut)", " errors, 1 warning"); got.errs != "" {
		t.Error(got.errs)
	}
}

// TestOutputs: JSON and YAML output are equal.
func TestOutputs(t *testing.T) {
	inRoot(t)
	for _, args := range [][]string{
		{"explain", "shop.k.example.com", "--from", "198.51.100.7"},
		{"list", "names"},
		{"list", "zones"},
		{"list", "targets"},
		{"list", "conflicts"},
		{"preview", "-f", "eu=examples/eu"},
	} {
		args = append(args, example)
		text := kdns(t, "", append(args, "-o", "json")...)
		var fromJSON, fromYAML any
		if err := json.Unmarshal([]byte(text.out), &fromJSON); err != nil {
			t.Fatalf("%q: %v: %s", args, err, text.out)
		}
		text = kdns(t, "", append(args, "-o", "yaml")...)
		if err := yaml.Unmarshal([]byte(text.out), &fromYAML); err != nil {
			t.Fatalf("%q: %v: %s", args, err, text.out)
		}
		a, _ := json.Marshal(fromJSON)
		b, _ := json.Marshal(fromYAML)
		if !bytes.Equal(a, b) {
			t.Errorf("%q: %s\nand %s", args, a, b)
		}
	}
	var x records.Explanation
	text := kdns(t, "", "explain", "shop.k.example.com", "--from", "198.51.100.7", "-o", "json", example)
	if err := json.Unmarshal([]byte(text.out), &x); err != nil || len(x.Steps) != 1 || x.Location.Codes[0] != "US" {
		t.Errorf("%+v, %v", x, err)
	}
}

// TestWarnings: skipped manifests cause warnings, and the rest is processed.
func TestWarnings(t *testing.T) {
	inRoot(t)
	dir := t.TempDir()
	text, err := os.ReadFile("examples/eu/gateway.yaml")
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, dir+"/a.yaml", string(text))
	writeFile(t, dir+"/b.yaml", "a: [\n")
	writeFile(t, dir+"/c.yaml", "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n")
	kdns(t, "", "explain", "nothing.k.example.com", "-f", "eu="+dir, "--zone", "k.example.com").expect(t, "explain", 3,
		"SERVFAIL", "a source that could hold the name is not listed yet", "!b.yaml: line 1: ", "!Names that are not found get SERVFAIL",
		"!kdns: 1 file could not be read in full; the rest is missing here\n",
		`!ignoring objects of kinds that are not read: 1 "Pod" of "v1"`)
	for _, args := range []string{"list zones", "list names", "list conflicts -o json", "compare " +
		startKnot(t, "", map[string]string{"k.example.com.": otherZone}) + " --rate 10000 none.k.example.com"} {
		args += " -f eu=" + dir + " --zone k.example.com"
		if got := kdns(t, "", strings.Fields(args)...); got.code != 3 || got.out == "" ||
			!strings.Contains(got.errs, "1 file could not be read in full") {
			t.Errorf("%s: code %d:\n%s%s", args, got.code, got.out, got.errs)
		}
	}
}

// TestPreview: a change of the examples is shown with its members, weights and the clients that move.
func TestPreview(t *testing.T) {
	inRoot(t)
	text, err := os.ReadFile("examples/eu/policies.yaml")
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.Replace(string(text), "weight: 100, geo: GEO-EU", "weight: 7, geo: US", 1)
	if changed == string(text) {
		t.Fatal("the example has another policy now")
	}
	for _, c := range []struct {
		args []string
		want []string
	}{
		{[]string{"-f", "eu=-", example}, []string{
			"~ shop.k.example.com", "member v5128t-1prjov.klb.shop.k.example.com (US, eu)",
			"weight 7", "1 name changed; clients of 1 name move", "of the IPv4 and",
		}},
		{
			[]string{"-f", "-", "--cluster", "eu", "--against", "examples/eu", "--against", "examples/na", "--zone", "k.example.com"},
			[]string{"of the countries get other addresses"},
		},
		{[]string{"-f", "eu=examples/na/shop.yaml", "--prune", example}, []string{"- status.k.example.com", "owner DNSPolicy shop/status"}},
	} {
		kdns(t, changed, append([]string{"preview"}, c.args...)...).expect(t, c.args, 1, c.want...)
	}
}

// shown is a console.Source for the examples.
type shown struct {
	view     inspect.View
	t        *testing.T
	clusters []console.Cluster
	preview  inspect.Preview // the result of Preview
}

func (s *shown) Look() (inspect.View, bool) { return s.view, true }
func (s *shown) Server() console.Server     { return console.Server{Clusters: s.clusters} }

func (s *shown) Preview(p console.PreviewRequest) (*inspect.Preview, error) {
	if n := bytes.Count(p.Manifests, []byte("\nkind: ")); n != 3 || p.Cluster != "eu" {
		s.t.Errorf("the preview is of %d objects, in cluster %q", n, p.Cluster)
	}
	return &s.preview, nil
}

// exampleWorld loads Corefile.example.
func exampleWorld(t *testing.T) *world { return loaded(t, &options{corefile: "Corefile.example"}) }

// loaded loads what the flags name.
func loaded(t *testing.T, o *options) *world {
	t.Helper()
	p := newProgress(&bytes.Buffer{})
	defer p.end()
	w, err := o.load(nil, p)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// TestServer: a server and manifests give the same answers.
func TestServer(t *testing.T) {
	inRoot(t)
	w := exampleWorld(t)
	token := writeFile(t, t.TempDir()+"/token", "0123456789abcdef\n")
	secret, err := console.OpenToken(token)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(console.New(console.Options{
		Token:  secret,
		Source: &shown{t: t, view: inspect.View{Snapshot: w.snap, Locator: w.db}},
	}))
	defer server.Close()
	for _, args := range [][]string{
		{"explain", "status.k.example.com"},
		{"list", "names"},
		{"list", "zones"},
		{"list", "targets"},
		{"list", "conflicts"},
		{"explain", "shop.k.example.com", "--from", "198.51.100.7"},
	} {
		here := kdns(t, "", append(slices.Clone(args), example)...)
		there := kdns(t, "", append(slices.Clone(args), "--server", server.URL, "--token-file", token)...)
		if here.out != there.out || there.code != 0 {
			t.Errorf("%q: code %d\n%s%s\nand here\n%s", args, there.code, there.out, there.errs, here.out)
		}
	}
	got := kdns(t, "", "preview", "-f", "examples/eu/policies.yaml", "-f", "examples/eu/gateway.yaml", "--cluster", "eu",
		"--against", server.URL, "--token-file", token)
	if got.code != 0 || got.out != "nothing changes\n" {
		t.Errorf("preview: code %d\n%s%s", got.code, got.out, got.errs)
	}
	kdns(t, "", "list", "zones", "--server", server.URL).expect(t, "without the token", 3,
		"!needs a token; name its file with --token-file")
	slow := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer slow.Close()
	kdns(t, "", "list", "zones", "--server", slow.URL, "--timeout", "50ms").expect(t, "a slow server", 3, "!timed out (--timeout)")
}
