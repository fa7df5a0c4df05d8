package source

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coredns-kuadrant/kuadrant/api"
)

const (
	oneGateway = "apiVersion: gateway.networking.k8s.io/v1\nkind: Gateway\nmetadata: {name: %s, namespace: shop}\n"
	notYAML    = "apiVersion: v1\nkind: Zone\n  metadata: x\n"
)

// TestReadManifests reads files, directories and standard input, each once, and checks the error
// for each that cannot be read.
func TestReadManifests(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	one := write("one.yaml", fmt.Sprintf(oneGateway, "one")+"---\napiVersion: v1\nkind: Pod\n")
	write("d/two.yml", fmt.Sprintf(oneGateway, "two")+"status: {addresses: []}\n")
	write("d/other.txt", "nothing")
	write("d/deep/three.yaml", fmt.Sprintf(oneGateway, "three"))
	broken := write("broken.yaml", fmt.Sprintf(oneGateway, "half")+"---\n"+notYAML)
	odd := write("any-name", fmt.Sprintf(oneGateway, "odd"))

	for _, c := range []struct {
		name   string
		paths  []string
		have   string // the Gateways
		faults []string
	}{
		{"a file and a directory", []string{one, filepath.Join(dir, "d")}, "shop/one shop/two", nil},
		{"a file twice", []string{one, one}, "shop/one", nil},
		{"a file of any name", []string{odd}, "shop/odd", nil},
		{"the standard input", []string{Stdin, one}, "shop/input shop/one", nil},
		{"a file that is broken", []string{one, broken}, "shop/half shop/one", []string{broken + ": line 7: "}},
		{
			"files that are not there",
			[]string{filepath.Join(dir, "x"), one, dir + "/y.yaml"},
			"shop/one",
			[]string{"x: no such file", "y.yaml: no such file"},
		},
		{"a device", []string{os.DevNull}, "", []string{os.DevNull + ": neither a file nor a directory"}},
		{"nothing", nil, "", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			var told []string
			opts := DirectoryOptions{Cluster: "c", Logf: func(format string, args ...any) { told = append(told, fmt.Sprintf(format, args...)) }}
			got, stated, err := ReadManifests(opts, strings.NewReader(fmt.Sprintf(oneGateway, "input")), c.paths...)
			var have []string
			for name := range got.Names(api.KindGateway, "") {
				have = append(have, name)
			}
			if strings.Join(have, " ") != c.have || got.Name != "c" || got.UID != "c" {
				t.Errorf("cluster %s %s has the Gateways %v, want %s", got.Name, got.UID, have, c.have)
			}
			if listed := got.Listings[api.KindGateway] == api.Listed; listed != (len(c.faults) == 0) {
				t.Errorf("listed is %v with the faults %v", listed, err)
			}
			checkFaults(t, err, c.faults)
			if stated(api.Ref{Kind: api.KindGateway, Name: "shop/one"}) || !stated(api.Ref{Kind: api.KindGateway, Name: "shop/two"}) &&
				strings.Contains(c.have, "two") {
				t.Error("what has a status is told wrongly")
			}
			for _, line := range told {
				if !strings.Contains(line, `ignoring objects of kinds that are not read: 1 "Pod" of "v1"`) {
					t.Errorf("it says %q", line)
				}
			}
		})
	}
}

// checkFaults checks that err joins one ManifestError for each of want, with that text.
func checkFaults(t *testing.T, err error, want []string) {
	t.Helper()
	if err == nil && len(want) == 0 {
		return
	}
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok || len(joined.Unwrap()) != len(want) {
		t.Fatalf("the error is %v, want %d faults", err, len(want))
	}
	for i, one := range joined.Unwrap() {
		if of := (*ManifestError)(nil); !errors.As(one, &of) || !strings.Contains(one.Error(), want[i]) {
			t.Errorf("fault %d is %v, want %q", i, one, want[i])
		}
	}
}
