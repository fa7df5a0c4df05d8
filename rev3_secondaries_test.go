package kuadrant

import (
	"bytes"
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestOneRecordDoesNotStopASecondary: data that BIND refuses to read may not be in a
// transfer, for BIND then takes nothing of the zone, now and later (rule 8.1, case F1). Each
// was also tried with a named as secondary: "failed while receiving responses". A Record
// that is refused passes.
func TestOneRecordDoesNotStopASecondary(t *testing.T) {
	program := peer(t, "named-checkzone", "bind9-utils")
	for _, tt := range []struct{ what, owner, rtype, data string }{
		{"RFC 4592 §4.2: NS at a wildcard", "*.w.example.org.", "NS", "ns.example.net."},
		{"RFC 4509 §2.1: 32 octets of SHA-256", "ds.example.org.", "DS", "12345 13 2 ABCD"},
		{"RFC 3658 §2.4: 20 octets of SHA-1", "ds.example.org.", "DS", "12345 13 1 ABCD"},
		{"RFC 7344 §3: as DS", "example.org.", "CDS", "12345 13 2 ABCD"},
		{"RFC 8976 §2.2.4: 48 octets of SHA-384", "example.org.", "ZONEMD", "1 1 1 ABCD"},
		{"RFC 4255 §3.1.3: 20 octets of SHA-1", "s.example.org.", "SSHFP", "1 1 ABCD"},
		{"RFC 6594 §4.1: 32 octets of SHA-256", "s.example.org.", "SSHFP", "1 2 ABCD"},
		{"RFC 9460 §8: a mandatory key that is not there", "v.example.org.", "SVCB", "1 . mandatory=alpn"},
		{"RFC 9460 §8: mandatory in mandatory", "v.example.org.", "SVCB", "1 . mandatory=mandatory"},
		{"RFC 9460 §7.1.1: no-default-alpn without alpn", "v.example.org.", "SVCB", "1 . no-default-alpn"},
		{"RFC 9460 §7.1.1: an empty protocol", "v.example.org.", "SVCB", `1 . alpn=""`},
		{"RFC 9460 §8: an empty mandatory", "v.example.org.", "HTTPS", `\# 7 00010000000000`},
		{"RFC 1876 §2: sizes are digits", "l.example.org.", "LOC", `\# 16 00FFFFFF000000000000000000000000`},
		{"RFC 3402 §3.2: the expression has delimiters", "n.example.org.", "NAPTR", `1 2 "s" "x" "!bad" .`},
		{"RFC 3402 §3.2: and parentheses that match", "n.example.org.", "NAPTR", `1 2 "s" "x" "!(!b!" .`},
		{"RKEY has no flags", "r.example.org.", "RKEY", "256 3 8 AAAA"},
	} {
		o := newZoneObjects()
		o.fill()
		o.record("odd", tt.owner, tt.rtype, tt.data)
		k := newPlugin(t, "kuadrant example.org {\nnameserver ns1.example.net\n}", "", o.published())
		var text bytes.Buffer
		rrs := collect(t, k, "example.org.")
		for _, rr := range rrs[:len(rrs)-1] {
			fmt.Fprintln(&text, rr)
		}
		file := filepath.Join(t.TempDir(), "zone")
		writeFile(t, file, text.String())
		if out, err := exec.Command(program, "-i", "local", "-k", "ignore", "example.org", file).CombinedOutput(); err != nil {
			t.Errorf("%s: %s %s %s: no BIND takes the zone any more:\n%s", tt.what, tt.owner, tt.rtype, tt.data, out)
		}
	}
}
