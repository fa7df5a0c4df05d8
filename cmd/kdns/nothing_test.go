package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestNothingToRead: a path without any object is probably a mistake, so it is an error.
func TestNothingToRead(t *testing.T) {
	dir, objects := t.TempDir(), manifests(t, previewed)
	empty, below := filepath.Join(dir, "empty"), filepath.Join(dir, "below")
	if err := os.Mkdir(empty, 0o700); err != nil {
		t.Fatal(err)
	}
	writeFile(t, below+"/deeper/a.yaml", objects)
	file := writeFile(t, dir+"/null/null.yaml", "# nothing yet\n---\n")
	text := writeFile(t, dir+"/text/readme.txt", objects)
	good := writeFile(t, dir+"/good/x.yaml", objects)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { t.Error("a server was asked") }))
	defer server.Close()
	const noFile = "no files ending in .yaml, .yml or .json; subdirectories are not read"
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"-f", empty}, empty + ": " + noFile},
		{[]string{"-f", below}, below + ": " + noFile},
		{[]string{"-f", filepath.Dir(text)}, noFile},
		{[]string{"-f", file, "-f", empty}, empty + ": " + noFile},
		{[]string{"-f", file}, "no object in " + file},
		{[]string{"-f", "-"}, "no object in -"},
	} {
		for _, command := range [][]string{
			{"check", "--zone", "k.example.com"},
			{"list", "names", "--zone", "k.example.com"},
			{"explain", "www.k.example.com", "--zone", "k.example.com"},
			{"preview", "--zone", "k.example.com", "--against", good},
		} {
			args := append(command, c.args...)
			if got := kdns(t, "", args...); got.code != 3 || got.out != "" || !strings.Contains(got.errs, c.want) {
				t.Errorf("%q: code %d, %q %q", args, got.code, got.out, got.errs)
			}
		}
	}
	kdns(t, "", "preview", "--server", server.URL, "-f", empty).expect(t, "on a server", 3, "!"+noFile)
	kdns(t, "", "preview", "--server", server.URL, "-f", "-").expect(t, "on a server", 3, "!no object in -")
	// The manifests that a preview is compared against may be empty.
	kdns(t, "", "preview", "--zone", "k.example.com", "-f", good, "--against", empty).expect(t, "applied to nothing", 1, "www.k.example.com")
	kdns(t, "", "preview", "--zone", "k.example.com", "-f", good).expect(t, "applied to what nobody says", 2, "!--against PATH")
	// A document that is not an object does not pass silently.
	odd := writeFile(t, dir+"/odd.yaml", objects+"---\nhello\n")
	kdns(t, "", "list", "names", "--zone", "k.example.com", "-f", odd).expect(t, odd, 3, "www.k.example.com", "!could not be understood")
}

// TestCheckLiveFails: a delegation that could not be checked is not reported as correct.
func TestCheckLiveFails(t *testing.T) {
	inRoot(t)
	for _, args := range [][]string{
		{"--live", "k.example.com", "--resolver", "127.0.0.1:1"},
		{"--live", "k.example.com", "--parent", "banana:x"},
		{"--live", "other.example"},
	} {
		for _, form := range outputs {
			got := kdns(t, "", append([]string{"check", example, "-o", form, "--timeout", "2s"}, args...)...)
			if got.code < 2 || got.out != "" || got.errs == "" {
				t.Errorf("%q, as %s: code %d, %q %q", args, form, got.code, got.out, got.errs)
			}
		}
	}
}

// TestPreviewPlaces: a server's messages about manifests name the local files and lines.
func TestPreviewPlaces(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, dir+"/a.yaml", "a: 1\nb: 2") // without a final newline
	writeFile(t, dir+"/b.yaml", "c: 3\nd: 4\n")
	status, answer := http.StatusOK,
		`{"leftOut": ["standard input: x in the document at line 5: it is twice in standard input, as the one in the document at line 1"]}`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if lines := strings.Split(string(body), "\n"); r.Method == http.MethodPost &&
			(err != nil || len(lines) < 5 || lines[0] != "a: 1" || lines[4] != "d: 4") {
			t.Errorf("sent was %q", body)
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Kuadrant-Api", "1")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, answer)
	}))
	defer server.Close()
	args := []string{"preview", "-f", dir, "--server", server.URL}
	kdns(t, "", args...).expect(t, "left out", 0, "nothing changes\n", "!warning: x in the document at line 2 of "+dir+
		"/b.yaml: it is twice, as the one in the document at line 1 of "+dir+"/a.yaml\n")
	status = http.StatusBadRequest
	for _, c := range []struct {
		field, message string
		code           int
		want           string
	}{
		{"manifests", "line 4: did not find it", 3, "kdns: line 1 of " + dir + "/b.yaml: did not find it\n"},
		{ // the line of the document separator
			"manifests", "document at line 3: control characters are not allowed", 3,
			"kdns: document at line 1 of " + dir + "/b.yaml: control characters are not allowed\n",
		},
		{"cluster", "say which: there are eu, na", 2, "say which: there are eu, na (--cluster NAME)"},
	} {
		answer = fmt.Sprintf(`{"error": {"field": %q, "message": %q}}`, c.field, c.message)
		kdns(t, "", args...).expect(t, c.message, c.code, "!"+c.want)
	}
}
