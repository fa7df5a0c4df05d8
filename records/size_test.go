package records

import (
	"testing"
	"unsafe"
)

// TestNodeSize: a zone of a million names has a million nodes, and 128 octets are a size that
// memory is given out in.
func TestNodeSize(t *testing.T) {
	if n := unsafe.Sizeof(node{}); n > 128 {
		t.Errorf("a node has %d octets", n)
	}
}
