package endpoint

import (
	"crypto/sha256"
	"math/big"
	"strconv"
	"strings"
	"testing"
)

// TestHash checks the vectors of Kuadrant's own operators (rule 2.3).
func TestHash(t *testing.T) {
	for _, c := range []struct {
		in, out string
	}{
		{"fbf71c44-6b37-4962-ace6-801912e769be", "2q5hyv"},
		{"TestName-TestNamespace", "a8xcra"},
		{"test-placed-control", "s07c46"},
		{"test-placed-workload-1", "2w705o"},
		{"prod-web-my-gateways", "1vgf3j"},
		{"external-dnstest", "360vxf"},
		{"gw-a-default", "23r8jb"},
		{"gw-b-default", "obxfve"},
		{"pb.com", "jsys0tw1"},
		{"123456789-123456789-123456789-123456789-123456789-123456789-123456789-123456789.pb.com", "d4ns4xlx"},
		{"example.com", "1jbcyj4z"},
		{"foo.example.com", "qtn4u6on"},
		{"k.example.com", "282f7a1y"},
		{"api.k.example.com", "13tjkx3j"},
		{"api.toystore.k.example.com", "oii1lttl"},
		{"simple.k.example.com", "1c8db9d0"},
		{"loadbalanced.k.example.com", "2m4elmtj"},
	} {
		if got := digits(c.in); !strings.HasPrefix(got, c.out) {
			t.Errorf("base36(%q) is %s, want %s…", c.in, got, c.out)
		}
		if got := Hash(c.in); got != c.out[:hashLength] {
			t.Errorf("Hash(%q) is %s, want %s", c.in, got, c.out[:hashLength])
		}
	}
}

// digits returns what base36 does, as one text.
func digits(s string) string {
	text, first := base36(s)
	return string(text[first:])
}

// TestBase36 compares with the number that math/big makes of the sum.
func TestBase36(t *testing.T) {
	short := false
	for i := range 20_000 {
		in := strconv.Itoa(i)
		sum := sha256.Sum224([]byte(in))
		want := new(big.Int).SetBytes(sum[:]).Text(36)
		if got := digits(in); got != want {
			t.Fatalf("base36(%q) is %s, want %s", in, got, want)
		}
		short = short || len(want) < 43
	}
	if !short {
		t.Error("no sum begins with a zero digit: more strings are needed")
	}
}
