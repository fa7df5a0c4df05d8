package records

import (
	"strings"
	"testing"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// TestVerdictsFitAStatus: what is said of a field has a bound, however long the field is: an API server takes no condition with a
// message of more than 32,768 characters (metav1.Condition), and one bad object would have no status at all (rule 8.1). The CRDs of
// this project bound their fields; those of DNSRecord and DNSEndpoint that others have installed do not (api.md, Objects read).
func TestVerdictsFitAStatus(t *testing.T) {
	const most = 32768
	long := strings.Repeat("x", 100_000)
	labels := map[string]string{api.LabelZoneName: "example.org"}
	for what, rec := range map[string]*api.DNSRecord{
		"target":     {Meta: api.Meta{Labels: labels}, RootHost: "x.example.org", Endpoints: []api.Endpoint{apiEndpoint("x.example.org", "A", long)}},
		"name":       {Meta: api.Meta{Labels: labels}, RootHost: "x.example.org", Endpoints: []api.Endpoint{apiEndpoint(long, "A", "192.0.2.1")}},
		"type":       {Meta: api.Meta{Labels: labels}, RootHost: "x.example.org", Endpoints: []api.Endpoint{apiEndpoint("x.example.org", long, "192.0.2.1")}},
		"rootHost":   {Meta: api.Meta{Labels: labels}, RootHost: long},
		"zoneID":     {ZoneID: long, RootHost: "x.example.org"},
		"identifier": {Meta: api.Meta{Labels: labels}, RootHost: "x.example.org", Endpoints: []api.Endpoint{rowOf("x.example.org", "A", "192.0.2.1", long, "", 1), rowOf("x.example.org", "A", "192.0.2.2", long, "", 1)}},
	} {
		w := sharedWorld()
		w.setDNSRecord(0, "a/r", rec)
		s := Compile(nil, w.objects(), dnsHasZones, testTime)
		if n := len(verdictText(s, api.KindDNSRecord, "a/r")); n > most {
			t.Errorf("%s: the verdict has %d octets", what, n)
		}
	}
}
