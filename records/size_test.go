package records

import (
	"testing"
	"unsafe"

	"github.com/coredns-kuadrant/kuadrant/records/zone"
)

// TestNodeSize: a zone of a million names has a million nodes, and 128 octets are a size that
// memory is given out in.
func TestNodeSize(t *testing.T) {
	if n := unsafe.Sizeof(zone.Node{}); n > 128 {
		t.Errorf("a node has %d octets", n)
	}
}
