package kuadrant

import (
	"bufio"
	"context"
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

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"k8s.io/client-go/rest"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/corefile"
	"github.com/coredns-kuadrant/kuadrant/geo"
	"github.com/coredns-kuadrant/kuadrant/internal/peertest"
)

// coreDNS returns the path of the server.
func coreDNS(t *testing.T) string { return peertest.CoreDNS(t, ".") }

// startCoreDNS runs a Corefile in a process of its own until the test ends. It
// returns when the servers listen.
func startCoreDNS(t *testing.T, binary, corefile string, env ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	cmd := exec.CommandContext(ctx, binary, "-conf", corefile, "-dns.port", "0")
	cmd.Env = append(os.Environ(), env...)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		_ = cmd.Wait()
	})
	var seen strings.Builder
	for lines := bufio.NewScanner(stdout); lines.Scan(); {
		seen.WriteString(lines.Text() + "\n")
		if strings.HasPrefix(lines.Text(), "CoreDNS-") {
			go func() {
				for lines.Scan() { // the process must not wait for a reader
				}
			}()
			return
		}
	}
	t.Fatalf("CoreDNS did not start:\n%s", seen.String())
}

func readme(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestReadmeCorefiles boots every Corefile of the README, of docs/transfer.md and of docs/clusters.md.
func TestReadmeCorefiles(t *testing.T) {
	transfers, err := os.ReadFile("docs/transfer.md")
	if err != nil {
		t.Fatal(err)
	}
	clusters, err := os.ReadFile("docs/clusters.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)~~~ corefile\n(.*?)~~~").FindAllStringSubmatch(readme(t)+string(transfers)+string(clusters), -1)
	if len(blocks) < 7 {
		t.Fatalf("found %d Corefiles", len(blocks))
	}
	binary := coreDNS(t)
	config := unreachable(t)
	for i, b := range blocks {
		t.Run(fmt.Sprint(i+1), func(t *testing.T) {
			file, keys := filepath.Join(t.TempDir(), "Corefile"), t.TempDir()
			writeFile(t, file, regexp.MustCompile(`key file \S*/K(\S+)\+013\+\d+`).ReplaceAllStringFunc(b[1], func(line string) string {
				zone := line[strings.Index(line, "/K")+2 : strings.Index(line, "+013")]
				_, base := newKey(t, keys, zone, 257)
				return "key file " + base
			}))
			replaceKubeconfigs(t, file, config)
			startCoreDNS(t, binary, file, "KUBECONFIG="+config)
		})
	}
}

// replaceKubeconfigs writes another kubeconfig, and no context, into the lines cluster of a Corefile.
func replaceKubeconfigs(t *testing.T, corefile, kubeconfig string) {
	t.Helper()
	text, err := os.ReadFile(corefile)
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, corefile, regexp.MustCompile(`(cluster \S+) \S+\.kubeconfig( admin)?`).ReplaceAllString(string(text), "$1 "+kubeconfig))
}

// unreachable writes a kubeconfig of an API server that nobody has, and returns its path.
func unreachable(t *testing.T) string {
	t.Helper()
	config := filepath.Join(t.TempDir(), "kubeconfig")
	writeFile(t, config, `{apiVersion: v1, kind: Config, current-context: c, clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}],
users: [{name: u, user: {token: t}}], contexts: [{name: c, context: {cluster: c, user: u}}]}`)
	return config
}

// TestReadmeDig types the README's lines and compares what they print. Where
// dig is not installed, there is nothing to type them into.
func TestReadmeDig(t *testing.T) {
	if _, err := exec.LookPath("dig"); err != nil {
		t.Skip("dig is not installed: it is in Debian's package bind9-dnsutils")
	}
	port := startExample(t, "8082") // where nobody listens
	var commands []command
	for _, block := range consoleBlock.FindAllStringSubmatch(readme(t), -1) {
		commands = append(commands, commandsOf(block[1])...)
	}
	if len(commands) < 10 {
		t.Fatalf("found %d commands", len(commands))
	}
	for _, c := range commands {
		if got, err := c.run(port); err != nil || got != c.want {
			t.Errorf("%s: %v\n%s\nwant\n%s", c.line, err, got, c.want)
		}
	}
}

// TestReadmeZone: the README shows the beginning of the example's zone.
func TestReadmeZone(t *testing.T) {
	example, err := os.ReadFile("examples/eu/zone.yaml")
	if err != nil {
		t.Fatal(err)
	}
	shown := 0
	for _, b := range yamlBlock.FindAllStringSubmatch(readme(t), -1) {
		if strings.Contains(b[1], "kind: Zone\n") {
			shown++
			if !strings.Contains(string(example), b[1]) {
				t.Errorf("examples/eu/zone.yaml lacks\n%s", b[1])
			}
		}
	}
	if shown != 1 {
		t.Errorf("%d Zones are shown", shown)
	}
}

// startExample starts Corefile.example, with its targets on another port, and
// returns the port that it answers on.
func startExample(t *testing.T, targets string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "examples"), os.DirFS("examples")); err != nil {
		t.Fatal(err)
	}
	checked, err := filepath.Glob(filepath.Join(dir, "examples", "*", "checked.yaml"))
	if err != nil || len(checked) == 0 {
		t.Fatalf("no objects with checks: %v", err)
	}
	for _, file := range checked {
		replaceIn(t, file, file, "port: "+examplePort, "port: "+targets)
	}
	port := fmt.Sprint(freePort(t))
	corefile := filepath.Join(dir, "Corefile")
	replaceIn(t, "Corefile.example", corefile, ":1053", ":"+port, " examples/", " "+dir+"/examples/")
	startCoreDNS(t, coreDNS(t), corefile)
	addr := "127.0.0.1:" + port
	for name, address := range map[string]string{"status.k.example.com.": "192.0.2.10", "wiki.apps.zone.example.org.": "192.0.2.60"} {
		waitFor(t, name, func() bool { return firstA(exchange(t, addr, name, 1)) == address })
	}
	return port
}

// replaceIn writes a file with other words in place of its own.
func replaceIn(t *testing.T, from, to string, oldnew ...string) {
	t.Helper()
	text, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.NewReplacer(oldnew...).Replace(string(text))
	if changed == string(text) {
		t.Fatalf("%s has none of %q", from, oldnew)
	}
	writeFile(t, to, changed)
}

// consoleBlock finds what the texts show of a terminal.
var consoleBlock = regexp.MustCompile("(?s)```console\n(.*?)```")

// command is a line that a text says to type, and what it says comes of it.
type command struct{ line, want string }

func commandsOf(block string) (all []command) {
	for _, c := range strings.Split(block, "$ ")[1:] {
		line, want, _ := strings.Cut(c, "\n")
		all = append(all, command{line, words(want)})
	}
	return all
}

// run types the command, with another port of the server, and returns what it
// prints.
func (c command) run(port string) (string, error) {
	out, err := exec.Command("bash", "-c", strings.Replace(c.line, "-p 1053", "-p "+port, 1)).CombinedOutput()
	return words(string(out)), err
}

// words folds the white space of each line, by which dig fills columns.
func words(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		lines = append(lines, strings.Join(strings.Fields(line), " "))
	}
	return strings.Join(lines, "\n")
}

// TestReadmeProperties compares the syntax in the README with the parser's.
func TestReadmeProperties(t *testing.T) {
	block := regexp.MustCompile(`(?s)kuadrant \[ZONES\.\.\.\] \{\n(.*?)\n\}`).FindStringSubmatch(readme(t))
	if block == nil {
		t.Fatal("no syntax in the README")
	}
	documented := make(map[string]bool)
	for line := range strings.Lines(block[1]) {
		if strings.HasPrefix(line, "     ") || strings.TrimSpace(line) == "}" {
			continue // of the block of a property
		}
		documented[strings.Fields(line)[0]] = true
	}
	if known := slices.Collect(maps.Keys(corefile.Properties())); !slices.Equal(slices.Sorted(maps.Keys(documented)), slices.Sorted(slices.Values(known))) {
		t.Errorf("the README has the properties %v, and the parser %v", slices.Sorted(maps.Keys(documented)), known)
	}
}

// TestReadmeMetrics compares the metrics in the README, and their labels, with those registered.
func TestReadmeMetrics(t *testing.T) {
	documented := make(map[string]string) // to the labels
	for _, m := range regexp.MustCompile("`(coredns_kuadrant_[a-z_]+)(?:\\{([a-z, ]*)\\})?`").FindAllStringSubmatch(readme(t), -1) {
		labels := strings.FieldsFunc(m[2], func(r rune) bool { return r == ',' || r == ' ' })
		slices.Sort(labels)
		documented[m[1]] = strings.Join(labels, ", ")
	}
	registered := make(map[string]bool)
	for _, f := range gatherAll(t) {
		if strings.HasPrefix(f.GetName(), "coredns_kuadrant_") {
			registered[f.GetName()] = true
			told, ok := documented[f.GetName()]
			if !ok {
				t.Errorf("the README lacks the metric %s", f.GetName())
			}
			var labels []string // sorted
			for _, l := range f.GetMetric()[0].GetLabel() {
				labels = append(labels, l.GetName())
			}
			if all := strings.Join(labels, ", "); ok && told != all {
				t.Errorf("the README says that %s has the labels %q: it has %q", f.GetName(), told, all)
			}
		}
	}
	for name := range documented {
		if !registered[name] {
			t.Errorf("the README has the metric %s, which does not exist", name)
		}
	}
}

// gatherAll returns all metrics that a server has, each with a member.
func gatherAll(t *testing.T) []*dto.MetricFamily {
	t.Helper()
	// A vector shows up once it has a member.
	steeredTotal.WithLabelValues("z.", "*", "up")
	probeDuration.WithLabelValues("http", "success")
	notifyFailures.WithLabelValues("192.0.2.53:53")
	world := oneHost(t)
	for _, p := range world.Policies.All() {
		p.HealthCheck = &api.HealthCheck{Port: 443, Path: "/"}
	}
	e := newPlugin(t, "kuadrant example.com", "", world).engine
	e.keeper = newKeeper(e, t.TempDir())
	db, err := geo.Open([]string{"examples/geo.mmdb"}, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	e.locator = db
	w, err := newWriter(new(corefile.Options), corefile.LocalCluster, &rest.Config{Host: "https://127.0.0.1:1"}, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	e.writers = append(e.writers, w)
	before := answering.Swap(e)
	defer answering.Store(before)
	families, err := prometheus.DefaultGatherer.Gather()
	if err != nil {
		t.Fatal(err)
	}
	return families
}
