package deploy

import (
	"archive/tar"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/coredns-kuadrant/kuadrant/internal/boottest"
)

// TestGeoFetch runs the script of the values for production. It accepts a database in each form,
// keeps the old one if the source has none, and never prints the key.
func TestGeoFetch(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip(err)
	}
	script := renderFile(t, helms[0], "production").pod.InitContainers[0].Args[0]
	database := boottest.ReadFile(t, "examples/geo.mmdb")
	source := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, key, _ := r.BasicAuth()
		switch path := r.URL.Path; {
		case key != "s3cret":
			w.WriteHeader(http.StatusUnauthorized)
		case path == "/city.tar.gz":
			zipped := gzip.NewWriter(w)
			defer zipped.Close()
			archive := tar.NewWriter(zipped)
			for name, text := range map[string]string{"City_1/README.txt": "MaxMind.com", "City_1/City.mmdb": database} {
				_ = archive.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: int64(len(text))})
				_, _ = io.WriteString(archive, text)
			}
			_ = archive.Close()
		case regexp.MustCompile(`^/city-\d{4}-\d{2}\.gz$`).MatchString(path):
			zipped := gzip.NewWriter(w)
			defer zipped.Close()
			_, _ = io.WriteString(zipped, database)
		case path == "/city.mmdb":
			_, _ = io.WriteString(w, database)
		default:
			_, _ = io.WriteString(w, "a page that wants a login")
		}
	}))
	defer source.Close()
	for _, c := range []struct {
		options string
		fetched bool
		printed string
	}{
		{"url = SOURCE/city.tar.gz\nuser = 1:s3cret\n", true, "geo: fetched a database\n"},
		{"url = SOURCE/city-{month}.gz\nuser = 1:s3cret\n", true, "geo: fetched a database\n"},
		{"url = SOURCE/city.mmdb\nuser = 1:s3cret\n", true, "geo: fetched a database\n"},
		{"url = SOURCE/page\nuser = 1:s3cret\n", false, "geo: no database: exit code 1, HTTP status 200\n"},
		{"url = SOURCE/city.mmdb?s3cret\n", false, "geo: no database: exit code 22, HTTP status 401\n"},
		{"s3cret\n", false, "geo: no database: exit code 2, HTTP status \n"},
	} {
		dir, want := t.TempDir(), "old"
		boottest.WriteFile(t, filepath.Join(dir, "geo.mmdb"), want)
		boottest.WriteFile(t, filepath.Join(dir, "curl"), strings.ReplaceAll(c.options, "SOURCE", source.URL))
		if c.fetched {
			want = database
		}
		// The test ends at the pause.
		once := "sleep() { kill $$; }\n" + strings.NewReplacer("cd /geo\n", "cd "+dir+"\n", "/source/", dir+"/").Replace(script)
		out, err := exec.Command("sh", "-c", once).CombinedOutput()
		if err != nil || string(out) != c.printed {
			t.Errorf("with %q it prints %q, want %q: %v", c.options, out, c.printed, err)
		}
		if got, err := os.ReadFile(filepath.Join(dir, "geo.mmdb")); err != nil || string(got) != want {
			t.Errorf("with %q the database has %d octets, want %d: %v", c.options, len(got), len(want), err)
		}
	}
}
