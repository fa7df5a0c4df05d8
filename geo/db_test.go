package geo

import (
	"bytes"
	"errors"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
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

func TestLocateOneDatabase(t *testing.T) {
	dir := t.TempDir()
	files := geotest.Write(t, dir)
	ie, us := Codes{"", "", "IE", "GEO-EU"}, Codes{"", "", "US", "GEO-NA"}
	for _, tt := range []struct {
		name, file string
		need       Need
		want       []located
	}{
		{"city", files.City, NeedPlace, []located{
			{"127.0.100.7", ie, 24},
			{"::ffff:127.0.100.7", ie, 24},
			{"127.0.200.7", us, 24},
			{"198.51.100.1", us, 25},
			{"198.51.100.129", Codes{"", "US-CA", "US", "GEO-NA"}, 26},
			{"198.51.100.200", Codes{"", "US-NY", "US", "GEO-NA"}, 27},
			{"203.0.113.1", Codes{"", "", "DE", "GEO-EU"}, 26},
			{"203.0.113.65", Codes{"", "DE-BE", "DE", "GEO-EU"}, 27},
			{"203.0.113.100", Codes{"", "AT-9", "AT", "GEO-EU"}, 32},
			{"203.0.113.101", Codes{"", "DE-BE", "DE", "GEO-EU"}, 32},
			{"127.0.0.1", Codes{}, 18},
			{"8.8.8.8", Codes{}, 7},
			{"255.255.255.255", Codes{}, 3},
			{"2001:db8:100::1", ie, 48},
			{"2001:db8:100::1%eth0", ie, 48},
			{"2001:db8:200::1", us, 48},
			{"2001:db8:2:3::1", Codes{"", "", "", "GEO-EU"}, 40},
			{"2001:db8:300:2::", Codes{"", "DE-BY", "DE", "GEO-EU"}, 63},
			{"2001:db8:300:1::1", Codes{"", "", "KR", "GEO-AS"}, 128},
			{"2001:db8:300:1::2", Codes{"", "JP-13", "JP", "GEO-AS"}, 127},
			{"3000::1", Codes{}, 4},
			// Networks that the database shows a second time: 6to4 of 192.0.2.1.
			{"2002:c000:201::1", ie, 40},
			// An IPv4-compatible address is an IPv6 address.
			{"::192.0.2.1", ie, 120},
		}},
		{"country", files.Country, NeedPlace, []located{
			{"198.51.100.129", us, 24}, // its halves differ in the subdivision alone
			{"2001:db8:2:3::1", Codes{"", "", "", "GEO-EU"}, 40},
		}},
		{"flat", files.Flat, NeedPlace, []located{
			{"192.0.2.1", ie, 24},
			{"203.0.113.100", Codes{"", "", "AT", "GEO-EU"}, 32},
			{"2001:db8:2:3::1", Codes{}, 40}, // its country_code is empty
			{"2001:db8:300:1::2", Codes{"", "", "JP", "GEO-AS"}, 127},
		}},
		{"flat, IPv4 only", files.Flat4, NeedPlace, []located{
			{"192.0.2.1", ie, 24},
			{"::ffff:192.0.2.1", ie, 24},
			{"8.8.8.8", Codes{}, 7},
			{"2001:db8:100::1", Codes{}, 3},
			{"::1", Codes{}, 81},
			{"ff02::1", Codes{}, 1},
		}},
		{"AS", files.ASN, NeedAS, []located{
			{"192.0.2.1", Codes{"AS64500", "", "", ""}, 25},
			{"192.0.2.200", Codes{"AS64501", "", "", ""}, 25},
			{"10.89.100.1", Codes{}, 24},
			{"2001:db8:200::1", Codes{"AS4200000000", "", "", ""}, 52},
		}},
		{"lite", files.Lite, NeedAS, []located{
			{"127.0.100.7", Codes{"AS64496", "", "IE", "GEO-EU"}, 24},
			{"203.0.113.100", Codes{"AS64507", "", "AT", "GEO-EU"}, 32},
		}},
		{"AS, but a place is needed", files.ASN, NeedPlace, []located{{"192.0.2.1", Codes{}, 0}}},
		{"place, but an AS is needed", files.City, NeedAS, []located{{"192.0.2.1", Codes{}, 0}}},
		{"nothing is needed", files.City, 0, []located{{"192.0.2.1", Codes{}, 0}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := open(t, []string{tt.file}, "")
			checkLocated(t, d, tt.need, tt.want)
			codes, bits := d.Locate(netip.Addr{}, tt.need)
			if *codes != (Codes{}) || bits != 0 {
				t.Errorf("Locate(no address) = %q, %d", *codes, bits)
			}
		})
	}
}

// A database of IPv6 networks alone knows nothing of IPv4. Result.Prefix says
// ::/3 there, which must not become 3 bits of IPv4.
func TestLocateIPv6Only(t *testing.T) {
	data := encode(t, geotest.Flat, []geotest.Network{{Prefix: netip.MustParsePrefix("2001:db8::/32"), Country: "IE"}})
	d := open(t, []string{writeFile(t, "six.mmdb", data)}, "")
	checkLocated(t, d, NeedPlace, []located{
		{"192.0.2.1", Codes{}, 1},
		{"2001:db8::1", Codes{"", "", "IE", "GEO-EU"}, 32},
		{"3000::1", Codes{}, 4},
	})
}

// One record for the whole of an address family. A scope of 0 would hold for
// the other family too.
func TestLocateEverything(t *testing.T) {
	data := encode(t, geotest.Flat4, []geotest.Network{{Prefix: netip.MustParsePrefix("0.0.0.0/0"), Country: "IE"}})
	d := open(t, []string{writeFile(t, "all.mmdb", data)}, "")
	checkLocated(t, d, NeedPlace, []located{
		{"192.0.2.1", Codes{"", "", "IE", "GEO-EU"}, 1},
		{"3000::1", Codes{}, 3},
	})
}

func TestLocateNothingOpen(t *testing.T) {
	d := open(t, nil, "")
	checkLocated(t, d, NeedPlace|NeedAS, []located{{"192.0.2.1", Codes{}, 0}, {"2001:db8::1", Codes{}, 0}})
}

func TestLocateSeveral(t *testing.T) {
	files := geotest.Write(t, t.TempDir())
	nets := writeFile(t, "nets", []byte("192.0.2.0/26 DE\n127.0.0.0/8 AS64999\n10.89.100.64/26 US-CA\n"))
	both := []string{files.City, files.ASN}
	t.Run("city and AS", func(t *testing.T) {
		d := open(t, both, "")
		want := []located{
			{"192.0.2.1", Codes{"AS64500", "", "IE", "GEO-EU"}, 25},
			{"203.0.113.20", Codes{"", "", "DE", "GEO-EU"}, 28},
			{"198.51.101.1", Codes{"AS64510", "", "", ""}, 24},
			{"2001:db8:200::1", Codes{"AS4200000000", "", "US", "GEO-NA"}, 52},
		}
		checkLocated(t, d, NeedPlace|NeedAS, want)
		checkLocated(t, d, NeedPlace|NeedAS, want) // from the cache
		checkLocated(t, d, NeedPlace, []located{{"192.0.2.1", Codes{"", "", "IE", "GEO-EU"}, 24}})
		checkLocated(t, d, NeedAS, []located{{"192.0.2.1", Codes{"AS64500", "", "", ""}, 25}})
	})
	t.Run("with networks", func(t *testing.T) {
		d := open(t, both, nets)
		checkLocated(t, d, NeedPlace, []located{
			{"192.0.2.1", Codes{"", "", "DE", "GEO-EU"}, 26},
			{"192.0.2.65", Codes{"", "", "IE", "GEO-EU"}, 26}, // no longer than beside the network
			{"192.0.2.129", Codes{"", "", "IE", "GEO-EU"}, 25},
			{"127.0.100.1", Codes{"AS64999", "", "", ""}, 8}, // a match is all that counts
			{"10.89.100.64", Codes{"", "US-CA", "US", "GEO-NA"}, 26},
			{"2001:db8:100::1", Codes{"", "", "IE", "GEO-EU"}, 48},
		})
		checkLocated(t, d, NeedPlace|NeedAS, []located{{"192.0.2.65", Codes{"AS64500", "", "IE", "GEO-EU"}, 26}})
	})
	t.Run("networks alone", func(t *testing.T) {
		d := open(t, nil, nets)
		checkLocated(t, d, NeedPlace, []located{
			{"192.0.2.1", Codes{"", "", "DE", "GEO-EU"}, 26},
			{"192.0.2.65", Codes{}, 26},
			{"3000::1", Codes{}, 3},
		})
		checkLocated(t, d, 0, []located{{"192.0.2.1", Codes{}, 0}})
	})
	t.Run("the first that knows", func(t *testing.T) {
		n := func(p, continent, country, sub string) geotest.Network {
			return geotest.Network{Prefix: netip.MustParsePrefix(p), Continent: continent, Country: country, Subdivision: sub}
		}
		first := writeFile(t, "a.mmdb", encode(t, geotest.Country, []geotest.Network{
			n("192.0.2.0/26", "NA", "US", ""), n("192.0.2.64/26", "EU", "DE", ""), n("192.0.2.128/26", "EU", "", ""),
		}))
		second := writeFile(t, "b.mmdb", encode(t, geotest.City, []geotest.Network{n("192.0.2.0/24", "NA", "US", "CA")}))
		d := open(t, []string{first, second}, "")
		checkLocated(t, d, NeedPlace, []located{
			{"192.0.2.1", Codes{"", "US-CA", "US", "GEO-NA"}, 26},
			{"192.0.2.65", Codes{"", "", "DE", "GEO-EU"}, 26}, // not with a subdivision of the United States
			{"192.0.2.129", Codes{"", "", "", "GEO-EU"}, 26},  // not with a country of North America
			{"192.0.2.193", Codes{"", "US-CA", "US", "GEO-NA"}, 26},
		})
		d = open(t, []string{second, first}, "")
		checkLocated(t, d, NeedPlace, []located{{"192.0.2.65", Codes{"", "US-CA", "US", "GEO-NA"}, 26}})
	})
	t.Run("place and AS in one", func(t *testing.T) {
		isp := writeFile(t, "isp.mmdb", encode(t, geotest.ISP, []geotest.Network{
			{Prefix: netip.MustParsePrefix("192.0.2.0/24"), Continent: "EU", Country: "IE", Subdivision: "D", AS: 64500},
		}))
		d := open(t, []string{isp}, "")
		want := []located{{"192.0.2.1", Codes{"AS64500", "IE-D", "IE", "GEO-EU"}, 24}}
		checkLocated(t, d, NeedPlace, want)
		checkLocated(t, d, NeedAS, want)
	})
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
		{"other kind", []string{writeFile(t, "o", other)}, "", []string{`"GeoIP2-Anonymous-IP" holds neither countries nor AS numbers`}},
		{"no networks", []string{writeFile(t, "n", encode(t, geotest.City, nil))}, "", []string{"holds neither"}},
		{"too many", make([]string, 9), "", []string{"have 9 files, want at most 8"}},
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
