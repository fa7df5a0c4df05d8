package state

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDamagedRuns: a file whose first line has a changed run count is refused like any other damage, because serials
// depend on it (rule 6.7). GoOn does not count a run in it, which would renew its checksum.
func TestDamagedRuns(t *testing.T) {
	dir := t.TempDir()
	text := write(t, dir, full(t))
	at := bytes.Index(text, []byte(`"runs":`)) + len(`"runs":`)
	for flip := range byte(8) {
		damaged := bytes.Clone(text)
		damaged[at] ^= 1 << flip
		if _, err := read(bytes.NewReader(damaged), int64(len(damaged))); !errors.Is(err, ErrLine) {
			t.Errorf("%q: %v, where %d runs were written", damaged[:at+1], err, full(t).Runs)
		}
		path := filepath.Join(dir, Name)
		if err := os.WriteFile(path, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := GoOn(dir); !errors.Is(err, ErrLine) {
			t.Errorf("%q: %v", damaged[:at+1], err)
		}
		if left, err := os.ReadFile(path); err != nil || !bytes.Equal(left, damaged) {
			t.Errorf("%q is changed: %v", damaged[:at+1], err)
		}
	}
}

// TestNoChecksumOfTheFirstLine: a file of this version without the first line's checksum is refused, and so is one
// that claims the version that had none.
func TestNoChecksumOfTheFirstLine(t *testing.T) {
	text := string(write(t, t.TempDir(), full(t)))
	at := strings.Index(text, `,"line-sha256":"`)
	end := strings.Index(text, "}")
	without := text[:at] + "}" + strings.Repeat(" ", end-at) + text[end+1:]
	for what, damaged := range map[string]string{
		"another version":      strings.Replace(text, `"kuadrant-state":2`, `"kuadrant-state":1`, 1),
		"without a checksum":   without,
		"with an empty one":    text[:at] + `,"line-sha256":""}` + strings.Repeat(" ", end-at-len(`,"line-sha256":""`)) + text[end+1:],
		"with another name":    strings.Replace(text, "line-sha256", "Line-sha256", 1),
		"with one field twice": strings.Replace(text, "}"+strings.Repeat(" ", 9), `,"runs":1}`, 1),
	} {
		if len(damaged) != len(text) || damaged == text {
			t.Fatalf("%s: %d octets of %d", what, len(damaged), len(text))
		}
		if _, err := read(strings.NewReader(damaged), int64(len(damaged))); !errors.Is(err, ErrLine) {
			t.Errorf("%s: %v", what, err)
		}
	}
}
