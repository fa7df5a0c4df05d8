package console

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// writeToken writes a token file.
func writeToken(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// newToken returns a token from a new file.
func newToken(t *testing.T, text string) *Token {
	t.Helper()
	path := filepath.Join(t.TempDir(), "token")
	writeToken(t, path, text)
	token, err := OpenToken(path)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// TestToken: requests need the token, whatever address they come from, and the token may change.
func TestToken(t *testing.T) {
	path := filepath.Join(t.TempDir(), "token")
	for text, want := range map[string]string{
		"": "is empty", "  \n": "is empty", "short": "must have 16 to 4096 characters", strings.Repeat("x", 5000): "must have 16 to 4096",
		"0123456789 0123456789": "must be printable ASCII", "0123456789\x000123456789": "must be printable",
	} {
		writeToken(t, path, text)
		if _, err := OpenToken(path); err == nil || !strings.Contains(err.Error(), want) || text != "" &&
			strings.Contains(err.Error(), strings.TrimSpace(text)+"x") {
			t.Errorf("token %.20q: %v, want %q", text, err, want)
		}
	}
	if _, err := OpenToken(path + "x"); err == nil {
		t.Error("a file that is not there is opened")
	}
	token := newToken(t, "first-token-of-some-length\n")
	h := New(Options{Source: newServer(t), Token: token})
	code := func(header ...string) int { return ask(h, http.MethodGet, "/names", nil, header...).Code }
	basic := func(password string) string {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.SetBasicAuth("anybody", password)
		return r.Header.Get("Authorization")
	}
	for _, c := range []struct {
		header []string
		want   int
	}{
		{nil, 401},
		{[]string{"Authorization", "Bearer first-token-of-some-lengt"}, 401},
		{[]string{"Authorization", "Bearer"}, 401},
		{[]string{"Authorization", basic("wrong")}, 401},
		{[]string{"Authorization", "Basic %%%"}, 401},
		{[]string{"Authorization", "bearer first-token-of-some-length"}, 200},
		{[]string{"Authorization", basic("first-token-of-some-length")}, 200},
	} {
		if got := code(c.header...); got != c.want {
			t.Errorf("%q: status %d, want %d", c.header, got, c.want)
		}
	}
	// A refresh gets no WWW-Authenticate, so that the browser does not prompt for a password; other requests do.
	if w := ask(h, http.MethodGet, "/names", nil, followHeader, "1"); w.Code != 401 || w.Header().Get("WWW-Authenticate") != "" {
		t.Errorf("a page that follows is answered with %d %v", w.Code, w.Header())
	}
	if w := ask(h, http.MethodGet, "/names", nil); w.Header().Get("WWW-Authenticate") == "" {
		t.Error("a browser is not asked for a password")
	}
	if got := ask(h, http.MethodGet, "/names?token=first-token-of-some-length", nil).Code; got != 401 {
		t.Errorf("a token in the URL is answered with %d", got)
	}
	writeToken(t, token.path, "second-token-of-another-length\n")
	token.looked = time.Time{}
	if code("Authorization", "Bearer second-token-of-another-length") != 200 ||
		code("Authorization", "Bearer first-token-of-some-length") != 401 {
		t.Error("the token has not changed with its file")
	}
	if err := os.Remove(token.path); err != nil {
		t.Fatal(err)
	}
	token.looked = time.Time{}
	if code("Authorization", "Bearer second-token-of-another-length") != 200 || code() != 401 {
		t.Error("without its file, the token does not count any more")
	}
}

// TestTokenTrouble: an unusable token file is reported once per change of the reason, in the log and on the overview,
// until it recovers; its contents never are.
func TestTokenTrouble(t *testing.T) {
	const good, other = "first-token-of-some-length", "other-token-of-some-length"
	token := newToken(t, good)
	path := token.path
	write := func(text string) { writeToken(t, path, text) }
	s, _ := checkedServer(t)
	var warned, told []string
	h := New(Options{
		Source: s, Token: token, Logf: func(format string, args ...any) { warned = append(warned, fmt.Sprintf(format, args...)) },
		Infof: func(format string, args ...any) { told = append(told, fmt.Sprintf(format, args...)) },
	})
	overview := func(with string) *httptest.ResponseRecorder {
		token.looked = time.Time{}
		return ask(h, http.MethodGet, "/", nil, "Authorization", "Bearer "+with)
	}
	for i, c := range []struct {
		change func()
		with   string // the token that counts then
		want   string // in the log; "" for nothing new
		calm   bool
	}{
		{func() {}, good, "", true},
		{func() { write("secret") }, good, "must have 16 to 4096 characters", false},
		{func() {}, good, "", false},
		{func() { write("") }, good, "is empty", false},
		{func() { _ = os.Remove(path) }, good, "no such file", false},
		{func() { write("secret2") }, good, "must have 16 to 4096 characters", false},
		{func() { write(other) }, other, "is readable again", true},
		{func() {}, other, "", true},
	} {
		warned, told = nil, nil
		c.change()
		w := overview(c.with)
		page := w.Body.String()
		if w.Code != http.StatusOK || strings.Contains(page, "Nothing needs attention") != c.calm ||
			strings.Contains(page, "token cannot be read") == c.calm {
			t.Errorf("%d: the page is %d %s", i, w.Code, page)
		}
		lines := append(warned, told...)
		if c.want == "" && len(lines) > 0 || c.want != "" && (len(lines) != 1 || !strings.Contains(lines[0], c.want) ||
			!strings.Contains(lines[0], path) || (len(told) == 1) != c.calm) {
			t.Errorf("%d: the log has %q and %q, want %q", i, warned, told, c.want)
		}
		if text := page + strings.Join(lines, " "); strings.Contains(text, "secret") || strings.Contains(text, "token-of") {
			t.Errorf("%d: something of the token is told: %s", i, text)
		}
		if again := overview(c.with); again.Code != http.StatusOK || len(append(warned, told...)) != len(lines) {
			t.Errorf("%d: looked at again, the log has %q and %q", i, warned, told)
		}
	}
}
