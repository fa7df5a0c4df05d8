//go:build !race

package geo

import (
	"io"
	"net/netip"
	"strings"
	"testing"

	"github.com/coredns-kuadrant/kuadrant/internal/geotest"
)

// everyNth says how many of the networks of the real database are tested.
const everyNth = 1

// A look-up allocates nothing, but for the first of a combination of records of
// several databases.
func TestLocateAllocs(t *testing.T) {
	files := geotest.Write(t, t.TempDir())
	nets := writeFile(t, "nets", []byte(testNets))
	for _, tt := range []struct {
		name  string
		files []string
		nets  string
	}{
		{"country", []string{files.Flat}, ""},
		{"IPv4 only", []string{files.Flat4}, ""},
		{"city and AS", []string{files.City, files.ASN}, ""},
		{"networks", nil, nets},
		{"all", []string{files.Flat4, files.City, files.ASN}, nets},
		{"none", nil, ""},
	} {
		d := open(t, tt.files, tt.nets)
		for _, text := range []string{
			"192.0.2.1", "::ffff:192.0.2.1", "8.8.8.8", "10.1.2.128", "2001:db8:300:1::1", "3000::1", "fe80::1%eth0",
		} {
			addr := netip.MustParseAddr(text)
			d.Locate(addr, NeedPlace|NeedAS)
			if n := testing.AllocsPerRun(100, func() { d.Locate(addr, NeedPlace|NeedAS) }); n != 0 {
				t.Errorf("%s: Locate(%s) allocates %v times", tt.name, addr, n)
			}
		}
	}
}

// A million lines take too long under the race detector.
func TestParseNetsTooMany(t *testing.T) {
	line, n := []byte("10.0.0.0/8 IE\n"), 0
	r := readerFunc(func(p []byte) (int, error) {
		if n > maxNets {
			return 0, io.EOF
		}
		n++
		return copy(p, line), nil
	})
	_, err := ParseNets("nets", r)
	if err == nil || !strings.Contains(err.Error(), "more than 1048576 networks") {
		t.Errorf("ParseNets of too many networks = %v", err)
	}
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
