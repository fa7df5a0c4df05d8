package console

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"
)

// Token is the secret that requests must show. The file is read again where it has changed; what is
// kept of it is a digest. Any number of goroutines may use one.
type Token struct {
	path string

	mu     sync.Mutex
	looked time.Time
	info   os.FileInfo
	sum    [sha256.Size]byte
}

// Bounds of a token, in octets: what is shorter can be guessed.
const (
	minToken = 16
	maxToken = 4096
)

// lookAgain is how long a token counts without a look at its file.
const lookAgain = time.Second

// OpenToken reads a token for the first time. White space around it does not count. The error names
// the file, and nothing of what it holds.
func OpenToken(path string) (*Token, error) {
	t := &Token{path: path}
	if err := t.read(); err != nil {
		return nil, err
	}
	return t, nil
}

// read reads the file.
func (t *Token) read() error {
	f, err := os.Open(t.path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a file", t.path)
	}
	data := make([]byte, maxToken+1)
	n, err := f.Read(data)
	text := strings.TrimSpace(string(data[:n]))
	clear(data)
	switch {
	case n == 0 || text == "":
		return fmt.Errorf("%s is empty: write a token of %d to %d characters into it", t.path, minToken, maxToken)
	case err != nil:
		return err
	case len(text) < minToken || n > maxToken:
		return fmt.Errorf("the token in %s has not %d to %d characters", t.path, minToken, maxToken)
	case strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' }):
		return fmt.Errorf("the token in %s has other characters than printable ASCII", t.path)
	}
	t.info, t.sum = info, sha256.Sum256([]byte(text))
	return nil
}

// matches tells whether a request shows the token. Where the file has gone or is broken, the token
// before it counts.
func (t *Token) matches(r *http.Request) bool {
	shown := ""
	if scheme, rest, ok := strings.Cut(r.Header.Get("Authorization"), " "); ok && strings.EqualFold(scheme, "Bearer") {
		shown = strings.TrimSpace(rest)
	} else if _, password, ok := r.BasicAuth(); ok { // what browsers can send
		shown = password
	}
	sum := sha256.Sum256([]byte(shown))
	t.mu.Lock()
	defer t.mu.Unlock()
	if now := time.Now(); now.Sub(t.looked) >= lookAgain {
		t.looked = now
		if info, err := os.Stat(t.path); err == nil && (!os.SameFile(info, t.info) || !info.ModTime().Equal(t.info.ModTime()) || info.Size() != t.info.Size()) {
			_ = t.read()
		}
	}
	return subtle.ConstantTimeCompare(sum[:], t.sum[:]) == 1
}

// CheckAddress tells whether a console may listen at an address: off loopback there must be a token.
// It returns the address with a port.
func CheckAddress(addr string, token bool) (string, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil || port == "" {
		return "", fmt.Errorf("wanted ADDR as HOST:PORT, such as localhost:8090, found %q", addr)
	}
	ip, err := netip.ParseAddr(host)
	switch {
	case host == "localhost", err == nil && ip.Unmap().IsLoopback():
	case host != "" && err != nil:
		return "", fmt.Errorf("wanted an IP address or localhost before the port, found %q", host)
	case !token:
		return "", errors.New("the address is not a loopback one: name a file with a token after it, so that not everybody sees the console")
	}
	return addr, nil
}

// guarded lets in whom the options let in, and makes every answer one that a browser shows nothing
// else with.
func (c *console) guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		secure(w.Header())
		defer c.caught(w, r)
		switch {
		case !c.hostAllowed(r.Host):
			unread(w, r)
			fail(w, r, http.StatusMisdirectedRequest, "this server is not known as %.100q: use its IP address or localhost, or name it in the Corefile: console ADDR TOKENFILE NAME", r.Host)
		case !sameSite(r):
			unread(w, r)
			fail(w, r, http.StatusForbidden, "another site has sent this request")
		case c.Token != nil && !c.Token.matches(r):
			unread(w, r)
			if wait, ok := c.load.allow(loadLogin); !ok {
				busy(w, r, wait)
				return
			}
			if r.Header.Get(followHeader) == "" { // a browser would ask for a password while nobody has done anything
				w.Header().Set("WWW-Authenticate", `Basic realm="kuadrant", charset="UTF-8"`)
			}
			fail(w, r, http.StatusUnauthorized, "the token is missing or wrong: send it in the header Authorization, as Bearer TOKEN, or as the password in a browser")
		case path.Clean("/"+r.URL.Path) != r.URL.Path || r.Method == http.MethodConnect: // else the mux would redirect
			unread(w, r)
			fail(w, r, http.StatusNotFound, "there is nothing at %.100q", r.URL.Path)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// secure sets the headers that each answer has.
func secure(h http.Header) {
	h.Set("Content-Security-Policy", contentPolicy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	h.Set(versionHeader, apiVersion)
}

// unread ends the connection after an answer to a request whose body nobody wants: net/http would wait for the body before
// it answers, and whoever may not come in would hold the connection.
func unread(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength != 0 {
		w.Header().Set("Connection", "close")
		_ = http.NewResponseController(w).SetReadDeadline(time.Now())
	}
}

// versionHeader is in each answer, and says which API it is of: a client knows a console by it.
const (
	versionHeader = "Kuadrant-Api"
	apiVersion    = "1"
)

// followHeader is in each request by which a page follows what it shows.
const followHeader = "Kuadrant-Follow"

// contentPolicy lets a page load from this server alone, and be in no other page.
const contentPolicy = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// caught turns a panic into an answer: nothing that a browser sends may end the server.
func (c *console) caught(w http.ResponseWriter, r *http.Request) {
	p := recover()
	if p == nil {
		return
	}
	if err, ok := p.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		panic(p)
	}
	c.Logf("Console: a request for %.100q has failed: %v: please report this\n%s", r.URL.Path, p, debug.Stack())
	fail(w, r, http.StatusInternalServerError, "this should not have happened; the log of the server says more")
}

// hostAllowed tells whether a header Host is one that people write: a page elsewhere can have its
// own name lead here, and would read what is shown.
func (c *console) hostAllowed(hostport string) bool {
	host := hostport
	if h, _, err := net.SplitHostPort(hostport); err == nil {
		host = h
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if _, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil || host == "localhost" {
		return true
	}
	return slices.Contains(c.Hosts, host)
}

// sameSite tells whether a request comes from this page, or from somebody who is no browser. Links from
// elsewhere may lead here.
func sameSite(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "same-origin", "none":
		return true
	}
	return r.Method == http.MethodGet && r.Header.Get("Sec-Fetch-Mode") == "navigate"
}
