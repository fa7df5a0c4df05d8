package console

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"
)

// TestTokenFollow: a page that follows what it shows is told that its token is wrong, and the browser does not ask the user
// for another one; for all else it does.
func TestTokenFollow(t *testing.T) {
	path := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(path, []byte("first-token-of-some-length\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	token, err := OpenToken(path)
	if err != nil {
		t.Fatal(err)
	}
	h := New(Options{Source: newServer(t), Token: token})
	for _, c := range []struct {
		header []string
		asks   bool
	}{{nil, true}, {[]string{"Kuadrant-Follow", "1"}, false}} {
		for _, at := range []string{"/", "/names", PathServer} {
			w := ask(h, http.MethodGet, at, nil, c.header...)
			if asks := w.Header().Get("WWW-Authenticate") != ""; w.Code != http.StatusUnauthorized || asks != c.asks {
				t.Errorf("%s with %q: status %d, want 401; it asks for a password: %v, want %v", at, c.header, w.Code, asks, c.asks)
			}
		}
	}
}
