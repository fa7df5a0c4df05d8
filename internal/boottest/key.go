package boottest

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/miekg/dns"
)

// NewKey creates a key for a zone, in files that the dnssec plugin reads.
func NewKey(t testing.TB, dir, zone string, flags uint16) (*dns.DNSKEY, string) {
	t.Helper()
	key := &dns.DNSKEY{
		Hdr:   dns.RR_Header{Name: zone, Rrtype: dns.TypeDNSKEY, Class: dns.ClassINET, Ttl: 3600},
		Flags: flags, Protocol: 3, Algorithm: dns.ECDSAP256SHA256,
	}
	private, err := key.Generate(256)
	if err != nil {
		t.Fatal(err)
	}
	base := filepath.Join(dir, fmt.Sprintf("K%s+%03d+%05d", zone, key.Algorithm, key.KeyTag()))
	WriteFile(t, base+".key", key.String()+"\n")
	WriteFile(t, base+".private", key.PrivateKeyString(private))
	return key, base
}
