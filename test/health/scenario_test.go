package health

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"golang.org/x/tools/txtar"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/geo"
	"github.com/coredns-kuadrant/kuadrant/records/recordstest"

	"github.com/coredns-kuadrant/kuadrant/internal/boottest"
	"github.com/coredns-kuadrant/kuadrant/internal/peertest"
)

var update = flag.Bool("update", false, "rewrite the expectations of testdata/health with what was seen")

// TestHealthScenarios plays the files in testdata/health: how answers change while targets fail and
// recover. The targets are real listeners, and the checks use real connections to them; time is
// that of a synctest bubble. A running check keeps time from advancing, so minutes take
// milliseconds and every moment is exact. The results hold for any jitter of the intervals.
//
// A file is a list of sections, in the order of time:
//
//	corefile            the kuadrant directive; probe-allow has to let the targets in
//	nets                lines of CIDR and code: where clients are
//	replicas            the number of servers; 1 without it
//	targets             lines of ADDRESS KIND [PORT]: real listeners. KIND is http,
//	                    tcp or grpc. PORT is a name for the port, PORT without it
//	CLUSTER/FILE        the file's new content, empty to delete it
//	edit CLUSTER/FILE   lines of OLD => NEW: replaces the first OLD; NEW may be empty
//	play                steps, each followed by its result, in lines that begin with >
//
// ${PORT} in files and in the Corefile is replaced by the free port that was found. A step is TIME
// ACTION. TIME is since the start, or with a + since the step before it. The actions, with TARGET
// for ADDRESS or ADDRESS@PORT:
//
//	ask NAME TYPE [from=ADDR] [ecs=CIDR] [chain] [times=N] [for=TIME every=TIME]
//	        asks all servers. The result is the class, the geo code and the data; with
//	        chain all records; with times or for the share of each answer, to 5 %.
//	        If servers differ, each answer appears once
//	down TARGET         it reports a failure: 503, or NOT_SERVING
//	status TARGET CODE  it answers with this HTTP status
//	refuse TARGET       nobody listens there
//	up TARGET           it works again
//	checks N TARGET [host=NAME] [in=MIN..MAX]
//	        advances time until N more checks of it have ended; in bounds how
//	        long that may take
//	state TARGET [host=NAME]
//	        its state on each server
//	hits TARGET MIN..MAX
//	        fails unless all servers together sent so many requests since the last hits
//	ready               whether each server is ready
//	targets             the number of targets that each server checks
//	reload              new servers take over from the running ones
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

// healthScenario is one file, with everything that lives outside of the bubble.
type healthScenario struct {
	corefile string
	locator  *geo.DB
	replicas int
	ports    portSet
	targets  map[string]*listener
	// steps are the objects of all clusters before each play section, by its place; a section with
	// the same objects as the one before has none.
	steps map[int][]*api.Cluster
	seen  *txtar.Archive
}

// prepareHealth opens the targets of a file and reads its objects.
func prepareHealth(t *testing.T, archive *txtar.Archive) *healthScenario {
	h := &healthScenario{
		corefile: "kuadrant example.com {\nprobe-allow 127.0.0.0/8 ::1/128\n}", replicas: 1,
		ports: make(portSet), targets: make(map[string]*listener), steps: make(map[int][]*api.Cluster),
		seen: &txtar.Archive{Comment: archive.Comment, Files: slices.Clone(archive.Files)},
	}
	for _, name := range portNames(archive) {
		h.ports[name] = peertest.FreePort(t)
	}
	world, texts, dirty := new(recordstest.World), make(map[string]string), false
	for i, f := range archive.Files {
		text := h.ports.expand(string(f.Data))
		name, edit := strings.CutPrefix(f.Name, "edit ")
		switch {
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
			if dirty {
				h.steps[i], dirty = world.Objects().Clusters, false
			}
		default:
			if edit {
				text = edited(t, texts[name], text)
			}
			cluster, file, _ := strings.Cut(name, "/")
			world.Apply(t, "cluster "+cluster+" uid="+cluster)
			if err := world.File(cluster, file, []byte(text)); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			texts[name], dirty = text, true
		}
	}
	return h
}

// portWord matches a port in a file.
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

// expand replaces the ports in a text.
func (p portSet) expand(text string) string {
	return portWord.ReplaceAllStringFunc(text, func(word string) string {
		return fmt.Sprint(p[portWord.FindStringSubmatch(word)[1]])
	})
}

// openNets parses a list of networks.
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

// edited applies lines of OLD => NEW to a text.
func edited(t *testing.T, text, lines string) string {
	t.Helper()
	for line := range strings.Lines(lines) {
		if strings.TrimSpace(line) == "" {
			continue
		}
		before, after, ok := strings.Cut(strings.TrimSpace(line), " =>")
		if !ok || !strings.Contains(text, before) {
			t.Fatalf("edit: nothing to replace by %q", line)
		}
		text = strings.Replace(text, before, strings.TrimPrefix(after, " "), 1)
	}
	return text
}
