package health

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"golang.org/x/tools/txtar"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/geo"
	"github.com/coredns-kuadrant/kuadrant/source"

	"github.com/coredns-kuadrant/kuadrant/internal/boottest"
)

var update = flag.Bool("update", false, "rewrite the expectations of testdata/health with what was seen")

// TestHealthScenarios plays the files in testdata/health: what becomes of
// answers while targets fail and recover. The targets are real listeners, the
// checks real connections to them; time is that of a synctest bubble. A check
// that is under way keeps time from passing, so minutes take milliseconds and
// every moment is exact. What is seen holds for any jitter of the intervals.
//
// A file is a list of sections, in the order of time:
//
//	corefile            the kuadrant directive; probe-allow has to let the targets in
//	nets                lines of CIDR and code: where clients are
//	replicas            how many servers there are; 1 without it
//	targets             lines of ADDRESS KIND [PORT]: real listeners. KIND is http,
//	                    tcp or grpc. PORT is a name for the port, PORT without it
//	CLUSTER/FILE        the file's new content, empty to delete it
//	edit CLUSTER/FILE   lines of OLD => NEW: OLD is replaced where it stands first;
//	                    NEW may be empty
//	play                steps, each followed by what is seen, in lines that begin with >
//
// ${PORT} stands in files and in the Corefile for the port that was found free.
// A step is TIME ACTION. TIME is since the beginning, or with a + since the step
// before it. The actions, with TARGET for ADDRESS or ADDRESS@PORT:
//
//	ask NAME TYPE [from=ADDR] [ecs=CIDR] [chain] [times=N] [for=TIME every=TIME]
//	        asks all servers. Seen are the class, the geo code and the data; with
//	        chain all records; with times or for the share of each answer, to 5 %.
//	        Where servers differ, each answer is seen once
//	down TARGET         it answers that it does not work: 503, or NOT_SERVING
//	status TARGET CODE  it answers with this HTTP status
//	refuse TARGET       nobody listens there
//	up TARGET           it works again
//	checks N TARGET [host=NAME] [in=MIN..MAX]
//	        lets time go on until N more checks of it have ended; in bounds how
//	        long that may take
//	state TARGET [host=NAME]
//	        what is known of it, by each server
//	hits TARGET MIN..MAX
//	        fails unless it was asked so often since the last hits, by all servers
//	ready               whether each server is ready
//	targets             how many targets each server has checked
//	reload              new servers take over from those that run
func TestHealthScenarios(t *testing.T) {
	files, err := filepath.Glob("testdata/health/*.txtar")
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
			h := prepareHealth(t, archive)
			synctest.Test(t, h.play)
			if *update && !t.Failed() {
				if err := os.WriteFile(file, txtar.Format(h.seen), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			for i, f := range archive.Files {
				want, got := bytes.TrimSpace(f.Data), bytes.TrimSpace(h.seen.Files[i].Data)
				if !bytes.Equal(want, got) {
					t.Errorf("section %d, %s:\n--- want\n%s\n--- seen\n%s", i+1, f.Name, want, got)
				}
			}
		})
	}
}

// healthScenario is one file, with everything made that lives outside of the
// bubble.
type healthScenario struct {
	corefile string
	locator  *geo.DB
	replicas int
	ports    portSet
	targets  map[string]*listener
	// steps are what all clusters hold before each play section, by its place; a
	// section with the same objects as the one before has none.
	steps map[int][]*api.Cluster
	seen  *txtar.Archive
}

// prepareHealth opens the targets of a file and reads its objects.
func prepareHealth(t *testing.T, archive *txtar.Archive) *healthScenario {
	h := &healthScenario{
		corefile: "kuadrant example.com {\nprobe-allow 127.0.0.0/8 ::1/128\n}", replicas: 1,
		targets: make(map[string]*listener), steps: make(map[int][]*api.Cluster),
		seen: &txtar.Archive{Comment: archive.Comment, Files: slices.Clone(archive.Files)},
	}
	h.ports = newPorts(t, portNames(archive)...)
	files := newManifestFiles(t)
	for i, f := range archive.Files {
		text := h.ports.expand(string(f.Data))
		switch name, edited := strings.CutPrefix(f.Name, "edit "); {
		case f.Name == "corefile":
			h.corefile = strings.TrimSpace(text)
		case f.Name == "nets":
			h.locator = openNets(t, text)
		case f.Name == "replicas":
			if _, err := fmt.Sscan(text, &h.replicas); err != nil {
				t.Fatal(err)
			}
		case f.Name == "targets":
			h.listen(t, text)
		case f.Name == "play":
			if clusters := files.read(); clusters != nil {
				h.steps[i] = clusters
			}
		case edited:
			files.edit(name, text)
		default:
			files.write(name, text)
		}
	}
	return h
}

// portWord is how a file writes a port.
var portWord = regexp.MustCompile(`\$\{(PORT[0-9]*)\}`)

// portNames returns the names of all ports in the file.
func portNames(archive *txtar.Archive) []string {
	names := []string{"PORT"}
	for _, f := range archive.Files {
		for _, m := range portWord.FindAllSubmatch(f.Data, -1) {
			names = append(names, string(m[1]))
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// expand puts the ports into a text.
func (p portSet) expand(text string) string {
	return portWord.ReplaceAllStringFunc(text, func(word string) string {
		return fmt.Sprint(p[portWord.FindStringSubmatch(word)[1]])
	})
}

// openNets reads a list of networks.
func openNets(t *testing.T, text string) *geo.DB {
	t.Helper()
	file := filepath.Join(t.TempDir(), "nets")
	boottest.WriteFile(t, file, text)
	db, err := geo.Open(nil, file, nil)
	if err != nil {
		t.Fatal(err)
	}
	return db
}

// listen starts the targets of a section.
func (h *healthScenario) listen(t *testing.T, text string) {
	t.Helper()
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		name, port := words[0], "PORT"
		if len(words) == 3 {
			port = words[2]
			name += "@" + port
		}
		h.targets[name] = listenAt(t, words[1], words[0], h.ports[port])
	}
}

// manifestFiles are the files of all clusters, with the real source reading
// them.
type manifestFiles struct {
	t     *testing.T
	dir   string
	texts map[string]string
	dirty bool
	step  int

	mu   sync.Mutex
	last map[string]*api.Cluster // published, by cluster; mu guards it
}

func newManifestFiles(t *testing.T) *manifestFiles {
	return &manifestFiles{t: t, dir: t.TempDir(), texts: make(map[string]string), last: make(map[string]*api.Cluster)}
}

func (m *manifestFiles) write(name, text string) {
	path := filepath.Join(m.dir, filepath.FromSlash(name))
	m.texts[name], m.dirty = text, true
	if strings.TrimSpace(text) == "" {
		if err := os.Remove(path); err != nil {
			m.t.Fatal(err)
		}
		return
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		m.t.Fatal(err)
	}
	boottest.WriteFile(m.t, path, text)
}

func (m *manifestFiles) edit(name, lines string) {
	text := m.texts[name]
	for line := range strings.Lines(lines) {
		if strings.TrimSpace(line) == "" {
			continue
		}
		before, after, ok := strings.Cut(strings.TrimSpace(line), " =>")
		if !ok || !strings.Contains(text, before) {
			m.t.Fatalf("edit %s: nothing to replace by %q", name, line)
		}
		text = strings.Replace(text, before, strings.TrimPrefix(after, " "), 1)
	}
	m.write(name, text)
}

// read returns what the sources publish of the files as they are now, nil where
// nothing was written. Each step writes a Gateway of its own name into every
// cluster, whose arrival shows that all has been read. What was published before
// stays as it is, and objects that are the same are the same pointers.
func (m *manifestFiles) read() []*api.Cluster {
	if !m.dirty {
		return nil
	}
	m.dirty = false
	m.step++
	marker := fmt.Sprintf("step-%d", m.step)
	entries, err := os.ReadDir(m.dir)
	if err != nil {
		m.t.Fatal(err)
	}
	for _, c := range entries {
		text := "apiVersion: gateway.networking.k8s.io/v1\nkind: Gateway\nmetadata: {namespace: zz-scenario, name: " + marker + "}\n"
		boottest.WriteFile(m.t, filepath.Join(m.dir, c.Name(), "zz-scenario.yaml"), text)
		if m.step == 1 {
			m.follow(c.Name())
		}
	}
	clusters := make([]*api.Cluster, len(entries))
	boottest.WaitFor(m.t, "objects of "+marker, func() bool {
		m.mu.Lock()
		defer m.mu.Unlock()
		for i, c := range entries {
			clusters[i] = m.last[c.Name()]
			if clusters[i] == nil {
				return false
			}
			if _, ok := clusters[i].Gateways.Get("zz-scenario/" + marker); !ok {
				return false
			}
		}
		return true
	})
	return clusters
}

// follow reads one cluster's files until the test ends.
func (m *manifestFiles) follow(cluster string) {
	ctx, cancel := context.WithCancel(context.Background())
	var done sync.WaitGroup
	src := source.Directory(source.DirectoryOptions{Cluster: cluster, Dir: filepath.Join(m.dir, cluster), Logf: m.t.Logf})
	done.Go(func() {
		_ = src.Run(ctx, func(c *api.Cluster) {
			m.mu.Lock()
			defer m.mu.Unlock()
			m.last[cluster] = c
		})
	})
	m.t.Cleanup(func() {
		cancel()
		done.Wait()
	})
}
