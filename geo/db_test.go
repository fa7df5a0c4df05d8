package geo

import (
	"bytes"
	"errors"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/coredns-kuadrant/kuadrant/internal/geotest"
)

// testLog is a Logger that writes to the test's log.
type testLog struct{ testing.TB }

func (l testLog) Infof(format string, args ...any)    { l.Logf(format, args...) }
func (l testLog) Warningf(format string, args ...any) { l.Logf(format, args...) }

// open opens a DB whose log goes to the test's.
func open(t testing.TB, files []string, nets string) *DB {
	t.Helper()
	d, err := Open(files, nets, testLog{t})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestBuilt: each database says when it was built, but for those that do not say it.
func TestBuilt(t *testing.T) {
	files := geotest.Write(t, t.TempDir())
	silent, err := os.ReadFile(files.Flat)
	if err != nil {
		t.Fatal(err)
	}
	if silent = bytes.Replace(silent, []byte("build_epoch"), []byte("built_epoch"), 1); !bytes.Contains(silent, []byte("built_epoch")) {
		t.Fatal("the database has no build_epoch")
	}
	nets := writeFile(t, "nets", []byte(testNets))
	d := open(t, []string{files.City, writeFile(t, "silent.mmdb", silent), files.ASN}, nets)
	want := map[string]time.Time{files.City: time.Unix(geotest.Epoch, 0), files.ASN: time.Unix(geotest.Epoch, 0)}
	if got := maps.Collect(d.Built()); !maps.Equal(got, want) {
		t.Errorf("built %v, want %v", got, want)
	}
	for range d.Built() {
		break
	}
	for range open(t, nil, nets).Built() {
		t.Error("a file of networks says when it was built")
	}
}

// writeFile writes a file into a directory of the test, and returns its path.
func writeFile(t testing.TB, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, content, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// encode is geotest.Encode.
func encode(t testing.TB, schema geotest.Schema, networks []geotest.Network) []byte {
	t.Helper()
	data, err := geotest.Encode(schema, networks)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

type located struct {
	addr  string
	codes Codes
	bits  int
}

func checkLocated(t *testing.T, l Locator, need Need, want []located) {
	t.Helper()
	for _, w := range want {
		codes, bits := l.Locate(netip.MustParseAddr(w.addr), need)
		if *codes != w.codes || bits != w.bits {
			t.Errorf("Locate(%s, %d) = %q, %d, want %q, %d", w.addr, need, *codes, bits, w.codes, w.bits)
		}
	}
}

// networksOf reads prefixes, each with what is known of it: continent, country, subdivision and AS number.
func networksOf(words []string) (all []geotest.Network) {
	for i := 0; i < len(words); i += 2 {
		of := strings.Split(strings.ReplaceAll(words[i+1], "-", ""), "/")
		as, _ := strconv.ParseUint(of[3], 10, 32)
		all = append(all, geotest.Network{
			Prefix: netip.MustParsePrefix(words[i]), Continent: of[0], Country: of[1], Subdivision: of[2], AS: uint32(as),
		})
	}
	return all
}

// TestLocated looks the addresses of testdata/located.txt up in the files that it names.
func TestLocated(t *testing.T) {
	geotestFiles := geotest.Write(t, t.TempDir())
	files := map[string]string{
		"city": geotestFiles.City, "country": geotestFiles.Country, "asn": geotestFiles.ASN, "flat": geotestFiles.Flat,
		"flat4": geotestFiles.Flat4, "lite": geotestFiles.Lite, "example": "../examples/geo.mmdb",
	}
	schemas := map[string]geotest.Schema{
		"city": geotest.City, "country": geotest.Country, "isp": geotest.ISP, "flat": geotest.Flat, "flat4": geotest.Flat4,
	}
	nets := map[string]string{"office": writeFile(t, "nets", []byte(testNets))}
	needs := map[string]Need{"nothing": 0, "place": NeedPlace, "AS": NeedAS, "place,AS": NeedPlace | NeedAS}
	text, err := os.ReadFile("testdata/located.txt")
	if err != nil {
		t.Fatal(err)
	}
	var d *DB
	var need Need
	in := ""
	for line := range strings.Lines(string(text)) {
		line, _, _ = strings.Cut(line, "#")
		switch words := strings.Fields(line); {
		case len(words) == 0:
		case words[0] == "database":
			files[words[1]] = writeFile(t, words[1]+".mmdb", encode(t, schemas[words[2]], networksOf(words[3:])))
		case words[0] == "networks":
			content := ""
			for i := 2; i < len(words); i += 2 {
				content += words[i] + " " + words[i+1] + "\n"
			}
			nets[words[1]] = writeFile(t, words[1], []byte(content))
		case words[0] == "open":
			var list []string
			office := ""
			for _, name := range words[1 : len(words)-2] {
				if nets[name] != "" {
					office = nets[name]
				} else {
					list = append(list, files[name])
				}
			}
			in, d, need = line, open(t, list, office), needs[words[len(words)-1]]
			if codes, bits := d.Locate(netip.Addr{}, need); *codes != (Codes{}) || bits != 0 {
				t.Errorf("%s: no address is %q, %d", in, *codes, bits)
			}
		default:
			for range 2 { // from the cache, too
				codes, bits := d.Locate(netip.MustParseAddr(words[0]), need)
				got := listed(t, codes)
				if want := strings.Join(words[2:], " "); got != want || strconv.Itoa(bits) != words[1] {
					t.Errorf("%s: %s is %d %s, want %s %s", in, words[0], bits, got, words[1], want)
				}
			}
		}
	}
}

func TestOpenErrors(t *testing.T) {
	files := geotest.Write(t, t.TempDir())
	good, err := os.ReadFile(files.City)
	if err != nil {
		t.Fatal(err)
	}
	fifo := filepath.Join(t.TempDir(), "fifo")
	if runtime.GOOS != "windows" {
		if err := syscall.Mkfifo(fifo, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	other := encode(t, geotest.Other, geotest.Places())
	for _, tt := range []struct {
		name  string
		files []string
		nets  string
		want  []string
	}{
		{"missing", []string{files.City, "/does/not/exist.mmdb"}, "", []string{`open geo database "/does/not/exist.mmdb": no such file`}},
		{"directory", []string{t.TempDir()}, "", []string{"not a regular file"}},
		{"pipe", []string{fifo}, "", []string{"not a regular file"}},
		{"empty", []string{writeFile(t, "e", nil)}, "", []string{"the file is empty"}},
		{"text", []string{writeFile(t, "text.mmdb", []byte("<html>"))}, "", []string{"text.mmdb", "not a complete MaxMind DB file"}},
		{"truncated", []string{writeFile(t, "t", good[:len(good)-100])}, "", []string{"not a complete MaxMind DB file"}},
		{"end missing at the front", []string{writeFile(t, "t", good[100:])}, "", []string{""}},
		{"other kind", []string{writeFile(t, "o", other)}, "", []string{`"GeoIP2-Anonymous-IP" has neither countries nor AS numbers`}},
		{"no networks", []string{writeFile(t, "n", encode(t, geotest.City, nil))}, "", []string{"has neither"}},
		{"too many", make([]string, 9), "", []string{"found 9 files, want at most 8"}},
		{"networks missing", nil, "/does/not/exist", []string{`open networks file "/does/not/exist": no such file`}},
		{"networks wrong", nil, writeFile(t, "nets", []byte("\n10.0.0.0/8 UK")), []string{"nets:2: geo code", "write GB"}},
		{"networks empty", nil, writeFile(t, "nets", nil), []string{"the file is empty"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d, err := Open(tt.files, tt.nets, testLog{t})
			if err == nil || d != nil {
				t.Fatalf("Open = %v, %v, want an error", d, err)
			}
			if of := (*OpenError)(nil); errors.As(err, &of) && of.Nets != (tt.nets != "") || of == nil && len(tt.files) <= maxFiles {
				t.Errorf("Open blames %+v", of)
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("Open says %q, want %q in it", err, want)
				}
			}
		})
	}
}
