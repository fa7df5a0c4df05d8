package controller

import (
	"testing"

	"github.com/coredns-kuadrant/kuadrant/api"
	kubizone "github.com/coredns-kuadrant/kuadrant/api/kubizone/v1alpha1"
)

// TestZoneWithSerialAndNoHash: a Zone's status is left alone while somebody has kept another serial
// than the verdict follows. Both are read from the one status: where they are read differently, as
// of a serial without a hash, nothing is ever written to the Zone.
func TestZoneWithSerialAndNoHash(t *testing.T) {
	for _, status := range []string{
		`{}`, `{"serial":2026010100}`, `{"hash":"abc"}`, `{"hash":"abc","serial":2026010100}`, `{"serial":4294967296}`, `{"hash":"","serial":-1}`,
	} {
		z, err := api.DecodeZone("local",
			[]byte(`{"metadata":{"namespace":"ns","name":"a"},"spec":{"domainName":"example.com."},"status":`+status+`}`))
		if err != nil {
			t.Fatal(err)
		}
		if got := keptIn(forms[api.KindZone].read([]byte(status)).(*kubizone.ZoneStatus)); got != z.Kept {
			t.Errorf("%s: the verdict follows %+v, what stands there is taken for %+v", status, z.Kept, got)
		}
	}
}
