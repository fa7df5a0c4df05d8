package docs

import (
	"fmt"
	"go/ast"
	goparser "go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/coredns/caddy"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/geo"
	"github.com/coredns-kuadrant/kuadrant/internal/corefile"
	"github.com/coredns-kuadrant/kuadrant/internal/engine"
	"github.com/coredns-kuadrant/kuadrant/records"
	"github.com/coredns-kuadrant/kuadrant/tools/reference/page"

	"github.com/coredns-kuadrant/kuadrant/internal/boottest"
)

func referenceDoc(t *testing.T) string { return boottest.ReadFile(t, page.File) }

func readme(t *testing.T) string { return boottest.ReadFile(t, "README.md") }

// TestReferenceIsCurrent: docs/reference.md equals what its generator makes of the README, the CRDs
// and the code.
func TestReferenceIsCurrent(t *testing.T) {
	want, err := page.Make(".")
	if err != nil {
		t.Fatal(err)
	}
	got := referenceDoc(t)
	if got == string(want) {
		return
	}
	lines := strings.Split(string(want), "\n")
	for i, line := range strings.Split(got, "\n") {
		if i >= len(lines) || line != lines[i] {
			t.Fatalf("%s is old from line %d on: run make reference\n%s", page.File, i+1, line)
		}
	}
	t.Fatalf("%s is old at its end: run make reference", page.File)
}

// TestReferenceProperties: docs/reference.md has every property of the parser, with the README's
// syntax, and marks the repeatable ones.
func TestReferenceProperties(t *testing.T) {
	syntaxes, err := page.Syntaxes(readme(t))
	if err != nil {
		t.Fatal(err)
	}
	doc, inReadme, names := referenceDoc(t), make(map[string]bool), slices.Collect(maps.Keys(corefile.Properties()))
	for _, s := range syntaxes {
		inReadme[s.Name] = true
		line := s.Line()
		if outer, inner, ok := strings.Cut(s.Name, "."); ok && slices.Contains(names, outer) {
			line = inner + " " + s.Args
		}
		if !strings.Contains(doc, "\n| `"+strings.ReplaceAll(line, "|", `\|`)+"`") {
			t.Errorf("%s lacks `%s`", page.File, line)
		}
		if said := strings.Contains(page.Properties[s.Name].What, "may be repeated"); said != corefile.Properties()[s.Name] {
			t.Errorf("%s says of %s that it may be repeated: %v", page.File, s.Name, said)
		}
	}
	for name := range inReadme {
		outer, _, _ := strings.Cut(name, ".")
		if _, known := corefile.Properties()[outer]; !known {
			t.Errorf("the README's syntax has %s, which the parser does not know", name)
		}
	}
	for name := range corefile.Properties() {
		if !inReadme[name] {
			t.Errorf("the README's syntax lacks %s", name)
		}
	}
}

// TestReadmeMetadata: the README lists exactly the published labels.
func TestReadmeMetadata(t *testing.T) {
	told := make(map[string]bool)
	for _, m := range regexp.MustCompile("(?m)^\\* `kuadrant/([a-z]+)` - ").FindAllStringSubmatch(readme(t), -1) {
		told[m[1]] = true
	}
	for _, name := range metadataNames(t) {
		if !told[name] {
			t.Errorf("the README lacks kuadrant/%s", name)
		}
		delete(told, name)
	}
	if len(told) > 0 {
		t.Errorf("the README has %v, which there are not", told)
	}
}

// metadataNames returns the labels that the module's root publishes, without the plugin's name.
func metadataNames(t *testing.T) (names []string) {
	t.Helper()
	values := regexp.MustCompile(`(?s)\nvar metadataValues = map.*?\n\}`).FindString(boottest.ReadFile(t, "metadata.go"))
	for _, m := range regexp.MustCompile(`(?m)^\t"([a-z]+)":`).FindAllStringSubmatch(values, -1) {
		names = append(names, m[1])
	}
	if len(names) < 4 {
		t.Fatalf("metadata.go has the labels %q", names)
	}
	return names
}

// word finds labels, annotations and types that belong to this project or to Kubernetes.
var word = regexp.MustCompile(`^(?:[a-z.-]*\.)?(?:kuadrant\.io|kubi\.zone|kubernetes\.io)/[A-Za-z][A-Za-z-]*$|^clusters\.kuadrant\.io/$`)

// TestReferenceNames: the labels, annotations and types in docs/reference.md are the constants of
// the code.
func TestReferenceNames(t *testing.T) {
	inCode := make(map[string]bool)
	for _, dir := range []string{".", "api", "internal/source", "records", "records/endpoint", "records/owner", "records/pool", "records/status", "records/zone", "internal/controller", "health", "internal/state", "internal/inspect", "internal/console"} {
		for _, text := range constants(t, dir) {
			if word.MatchString(text) && !regexp.MustCompile(`/v\d+[a-z0-9]*$`).MatchString(text) {
				inCode[text] = true
			}
		}
	}
	for x := range api.NumTexts {
		inCode[x.Annotation()] = true
	}
	if len(inCode) < 15 {
		t.Fatalf("found %v", inCode)
	}
	for _, w := range page.Names {
		if !inCode[w.Name] {
			t.Errorf("tools/reference/page has %s: the code does not", w.Name)
		}
		delete(inCode, w.Name)
	}
	for name := range inCode {
		t.Errorf("tools/reference/page lacks %s: write it into Words, and run make reference", name)
	}
}

// constants returns the string constants of a package, including concatenations.
func constants(t *testing.T, dir string) (all []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %q, %v", dir, files, err)
	}
	defined := make(map[string]ast.Expr)
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := goparser.ParseFile(token.NewFileSet(), path, nil, goparser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if spec, ok := n.(*ast.ValueSpec); ok && len(spec.Names) == len(spec.Values) {
				for i, name := range spec.Names {
					defined[name.Name] = spec.Values[i]
				}
			}
			return true
		})
	}
	var value func(ast.Expr) string
	value = func(e ast.Expr) string {
		switch e := e.(type) {
		case *ast.BasicLit:
			text, _ := strconv.Unquote(e.Value)
			return text
		case *ast.Ident:
			if of, ok := defined[e.Name]; ok && of != ast.Expr(e) {
				return value(of)
			}
		case *ast.BinaryExpr:
			return value(e.X) + value(e.Y)
		}
		return ""
	}
	for _, e := range defined {
		all = append(all, value(e))
	}
	return all
}

// TestReferenceDefaults checks the defaults in docs/reference.md that are constants of the code.
func TestReferenceDefaults(t *testing.T) {
	for name, want := range map[string]string{
		"ttl":        fmt.Sprint(records.DefaultTTL, " ", records.DefaultLoadBalancedTTL),
		"guard":      strings.TrimSuffix(engine.DefaultGuard.String(), "0s"),
		"write-rate": fmt.Sprint(engine.DefaultWriteQPS, " ", engine.DefaultWriteBurst),
		"lease":      "`" + engine.DefaultLease + "`",
		"namespaces": "`" + corefile.WatchNamespaces + "`",
	} {
		if got := page.Properties[name].Default; !strings.Contains(got, want) {
			t.Errorf("%s has the default %s, and is said to have %q", name, want, got)
		}
	}
	for name, want := range map[string]string{
		"guard":    "to " + strings.TrimSuffix(corefile.MaxGuard.String(), "0m0s"),
		"override": fmt.Sprintf("%d MiB", engine.MaxOverrides>>20),
	} {
		if got := page.Properties[name].Bounds; !strings.Contains(got, want) {
			t.Errorf("%s has the bound %s, and is said to have %q", name, want, got)
		}
	}
}

// propertyBounds are lines within the bounds in docs/reference.md, and lines beyond them. DIR is a
// directory.
var propertyBounds = map[string]struct{ within, beyond []string }{
	"kubeconfig":         {[]string{"kubeconfig f", "kubeconfig f c"}, []string{"kubeconfig", "kubeconfig f c d", "manifests DIR\nkubeconfig f"}},
	"cluster":            {[]string{"cluster a f", "cluster a.b-1 f c", "cluster a f\ncluster b f"}, []string{"cluster a", "cluster local f", "cluster A f", "cluster " + strings.Repeat("a", 254) + " f", "manifests DIR\ncluster a f"}},
	"cluster.group":      {[]string{"cluster a f {\ngroup B_c.1-\n}"}, []string{"cluster a f {\ngroup\n}", "cluster a f {\ngroup a&&b\n}"}},
	"manifests.group":    {[]string{"manifests DIR {\ngroup " + strings.Repeat("a", 63) + "\n}"}, []string{"manifests DIR {\ngroup " + strings.Repeat("a", 64) + "\n}"}},
	"group":              {[]string{"group a"}, []string{"group", "group a b", "group a;b", "manifests DIR\ngroup a"}},
	"resolver":           {[]string{"resolver 192.0.2.1 [2001:db8::1]:5353"}, []string{"resolver", "resolver ns.example.com", "resolver 192.0.2.1:0x"}},
	"cluster.namespaces": {[]string{"cluster a f {\nnamespaces b c\n}"}, []string{"cluster a f {\nnamespaces\n}", "cluster a f {\nnamespaces B\n}"}},
	"cluster.write-back": {[]string{"cluster a f {\nwrite-back off\n}"}, []string{"cluster a f {\nwrite-back status\n}"}},
	"manifests": {[]string{"manifests DIR", "manifests DIR a\nmanifests DIR b"}, []string{
		"manifests DIR/none", "manifests DIR a\nmanifests DIR a", "kubeconfig f\nmanifests DIR", "cluster a f\nmanifests DIR",
		"manifests DIR\nwrite-back off", "manifests DIR\nwrite-rate 1 1", "manifests DIR\nlease a",
	}},
	"namespaces": {[]string{"namespaces a b-1 " + strings.Repeat("a", 63)}, []string{"namespaces", "namespaces A", "namespaces " + strings.Repeat("a", 64)}},
	"policies":   {[]string{"policies a=b,c in (d, e)"}, []string{"policies", `policies " "`, "policies a=b=c"}},
	"kinds":      {[]string{"kinds Gateway DNSPolicy DNSHealthCheckProbe Zone Record DNSRecord DNSEndpoint Secret", "kinds gateway"}, []string{"kinds", "kinds Pod"}},
	"secrets":    {[]string{"secrets off"}, []string{"secrets", "secrets on"}},
	"publish": {
		[]string{"publish a.com b c", "publish example.com *\npublish *.a.com *\npublish b.a.com c", "publish a.com *\npublish a.com b types ns A\npublish a.com c types TXT", "publish _a.*.a.com b"},
		[]string{"publish a.com", "publish a.*.com b", "publish a.com b\npublish *.a.com c", "publish a.com B", "publish a.com b types", "publish a.com b types X", "publish a.com b types A NS\npublish a.com c types ns a"},
	},
	"zone-namespaces": {[]string{"zone-namespaces a b"}, []string{"zone-namespaces", "zone-namespaces A"}},
	"geoip":           {[]string{"geoip DB"}, []string{"geoip", "geoip DB DB DB DB DB DB DB DB DB"}},
	"nets":            {[]string{"nets NETS"}, []string{"nets", "nets NETS NETS"}},
	"override":        {[]string{"override f"}, []string{"override", "override f g"}},
	"guard":           {[]string{"guard 0", "guard 24h", "guard 90s"}, []string{"guard", "guard 24h1ns", "guard -1s", "guard 5"}},
	"state":           {[]string{"state DIR"}, []string{"state", "state a b"}},
	"console":         {[]string{"console localhost:8090", "console [::1]:80", "console :8090 f", "console 192.0.2.1:80 f a.example"}, []string{"console", "console :8090", "console a.example:80 f", "console localhost"}},
	"probes":          {[]string{"probes off"}, []string{"probes", "probes on"}},
	"probe-deny":      {[]string{"probe-deny 192.0.2.0/24 2001:db8::1"}, []string{"probe-deny", "probe-deny a.example"}},
	"probe-allow":     {[]string{"probe-allow 192.0.2.0/24 2001:db8::1"}, []string{"probe-allow", "probe-allow a.example"}},
	"fast-udp":        {[]string{"fast-udp on", "fast-udp off"}, []string{"fast-udp", "fast-udp yes", "fast-udp on\nfast-udp off"}},
	"write-back":      {[]string{"write-back all", "write-back status", "write-back off"}, []string{"write-back", "write-back on", "manifests DIR\nwrite-back all"}},
	"write-rate":      {[]string{"write-rate 1 10000"}, []string{"write-rate 1", "write-rate 0 1", "write-rate 1 10001"}},
	"lease":           {[]string{"lease a", "lease a/b.c"}, []string{"lease", "lease A", "lease a/B"}},
	"answer":          {[]string{"answer chain", "answer flatten"}, []string{"answer", "answer all"}},
	"ttl":             {[]string{"ttl 0", "ttl 0 2147483647"}, []string{"ttl", "ttl 2147483648", "ttl 1 -1"}},
	"nameserver":      {[]string{"nameserver ns.example.com 192.0.2.1", "nameserver ns.example.net\nnameserver a.example.net"}, []string{"nameserver", "nameserver ns.example.com", "nameserver a.example.net\nnameserver a.example.net", "nameserver ns.example.com 0.0.0.0"}},
	"rname":           {[]string{"rname a@example.com", "rname a"}, []string{"rname", "rname a@b@c"}},
	"owner-txt":       {[]string{"owner-txt _a-.B1"}, []string{"owner-txt", "owner-txt a/b"}},
	"fallthrough":     {[]string{"fallthrough", "fallthrough a.example.com"}, []string{"fallthrough a..b"}},
}

// TestReferenceBounds tries the bounds of every property.
func TestReferenceBounds(t *testing.T) {
	dir := t.TempDir()
	database, err := filepath.Abs("examples/geo.mmdb")
	if err != nil {
		t.Fatal(err)
	}
	boottest.WriteFile(t, filepath.Join(dir, "nets"), "192.0.2.0/24 IE\n")
	files := strings.NewReplacer("DIR", dir, "DB", database, "NETS", filepath.Join(dir, "nets"))
	read := func(block string) error {
		cfg := new(engine.Options)
		_, err := corefile.Parse(caddy.NewTestController("dns", "kuadrant example.com {\n"+files.Replace(block)+"\n}"), cfg)
		if err == nil {
			err = corefile.Check(cfg)
		}
		if err == nil && (len(cfg.GeoIP) > 0 || cfg.Nets != "") {
			_, err = geo.Open(cfg.GeoIP, cfg.Nets, nil)
		}
		return err
	}
	if got, want := slices.Sorted(maps.Keys(propertyBounds)), slices.Sorted(maps.Keys(page.Properties)); !slices.Equal(got, want) {
		t.Errorf("bounds are tried of\n%q\nand %s has\n%q", got, page.File, want)
	}
	for name, lines := range propertyBounds {
		for _, line := range lines.within {
			if err := read(line); err != nil {
				t.Errorf("%s: %q: %v", name, line, err)
			}
		}
		for _, line := range lines.beyond {
			if err := read(line); err == nil {
				t.Errorf("%s: %q is taken", name, line)
			}
		}
	}
}
