package main

import (
	"archive/tar"
	"compress/gzip"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// pack writes a package as npm does.
func pack(t *testing.T, files map[string]string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "pack.tgz")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	z := gzip.NewWriter(f)
	w := tar.NewWriter(z)
	for name, content := range files {
		if err := w.WriteHeader(&tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(len(content))}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(content)); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []interface{ Close() error }{w, z, f} {
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

func TestUnpack(t *testing.T) {
	to := filepath.Join(t.TempDir(), "geo.mmdb")
	from := pack(t, map[string]string{"package/README.md": "text", "package/geo.mmdb": "data", "package/other.mmdb": "else"})
	if err := unpack(from, to); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(to); err != nil || string(got) != "data" {
		t.Errorf("unpacked %q, %v, want data", got, err)
	}
}

func TestUnpackErrors(t *testing.T) {
	to := filepath.Join(t.TempDir(), "geo.mmdb")
	whole := pack(t, map[string]string{"package/geo.mmdb": strings.Repeat("data", 1000)})
	half, err := os.ReadFile(whole)
	if err != nil {
		t.Fatal(err)
	}
	cut := filepath.Join(t.TempDir(), "cut.tgz")
	if err := os.WriteFile(cut, half[:len(half)/2], 0o644); err != nil {
		t.Fatal(err)
	}
	for from, want := range map[string]string{
		pack(t, map[string]string{"package/other": ""}): `no file "geo.mmdb"`,
		cut:            "unexpected EOF",
		to:             "no such file",
		"main_test.go": "gzip",
	} {
		if err := unpack(from, to); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("unpack(%s) = %v, want %q", from, err, want)
		}
	}
}
