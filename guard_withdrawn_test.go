package kuadrant

import (
	"testing"
	"time"
)

// TestHoldBringsBackWithdrawnGateway: a Gateway that was being deleted is withdrawn (rule 1.4): its
// names are not answered any more. Where it is gone and made anew before anything is compiled
// again, the new one has no address yet, and those of the old one must not come back.
func TestHoldBringsBackWithdrawnGateway(t *testing.T) {
	before := statusGateway(3, "192.0.2.1 192.0.2.2", 2, 0, -1)
	before.Deleting = true
	after := statusGateway(1, "", -1, -1, -1)
	after.UID = "another"
	got, h := holdStatus(before, after, nil, false, time.Unix(1000, 0))
	if h != nil || len(got.Addresses) > 0 {
		t.Errorf("the addresses %v of a Gateway that was withdrawn are served again", got.Addresses)
	}
}
