package records

import "testing"

// TestFromRoot: labels come in the order from the root, escapes as they stand, and back again.
func TestFromRoot(t *testing.T) {
	for name, want := range map[string]string{
		"": "", "org.": "org.", "x.klb.h.example.org.": "org.example.h.klb.x.", `a\.b.c\\.d.`: `d.c\\.a\.b.`, `\000.\..e.`: `e.\..\000.`,
	} {
		if got := fromRoot(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		} else if back := fromRoot(got); back != name {
			t.Errorf("%s: %s, and back %s", name, got, back)
		}
	}
}
