package watchfile

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestDirsOf(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, sub := range []string{"a", "b/c"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "b/c/file"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for link, to := range map[string]string{"a/link": "../b", "top": filepath.Join(dir, "a/link/c/file"), "loop": "loop"} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string][]string{
		"b/c/file":      {"b/c"},
		"a/link/c/file": {"a", "b/c"},
		"top":           {"", "a", "b/c"},
		"b/none/file":   {"b"},
		"none":          {""},
		"b":             {""},
	} {
		for i := range want {
			want[i] = filepath.Join(dir, want[i])
		}
		if got := dirsOf(filepath.Join(dir, path)); !slices.Equal(got, want) {
			t.Errorf("dirsOf(%s) = %q, want %q", path, got, want)
		}
	}
	if got := dirsOf(filepath.Join(dir, "loop")); len(got) > maxLinks+1 {
		t.Errorf("dirsOf of a link to itself has %d directories", len(got))
	}
}
