package state

import (
	"bytes"
	"reflect"
	"testing"
)

// TestDamagedRuns: the first line says how many runs may have published more than the file has. A file in
// which that has changed is damaged as any other is: serials go by it (rule 6.7).
func TestDamagedRuns(t *testing.T) {
	text := write(t, t.TempDir(), full(t))
	at := bytes.Index(text, []byte(`"runs":`)) + len(`"runs":`)
	for flip := range byte(8) {
		damaged := bytes.Clone(text)
		damaged[at] ^= 1 << flip
		if got, err := read(bytes.NewReader(damaged), int64(len(damaged))); err == nil && !reflect.DeepEqual(flat(got), flat(full(t))) {
			t.Errorf("%q is read, with %d runs, where %d were written", damaged[:at+1], got.Runs, full(t).Runs)
		}
	}
}
