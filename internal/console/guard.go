package console

import (
	"errors"
	"net"
	"net/http"
	"net/netip"
	"path"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

// guarded admits the requests that the options allow, and sets the security headers of every answer.
func (c *console) guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		secure(w.Header())
		defer c.caught(w, r)
		switch {
		case !c.hostAllowed(r.Host):
			fail(w, r, http.StatusMisdirectedRequest,
				"unknown host %.100q; use the server's IP address or localhost, or add the name to the Corefile: console ADDR TOKENFILE NAME", r.Host)
		case !sameSite(r):
			fail(w, r, http.StatusForbidden, "the request comes from another site")
		case c.Token != nil && !c.admits(r):
			if wait, ok := c.load.allow(loadLogin); !ok {
				busy(w, r, wait)
				return
			}
			if r.Header.Get(followHeader) == "" { // a page that follows must not make the browser ask for a password
				w.Header().Set("WWW-Authenticate", `Basic realm="kuadrant", charset="UTF-8"`)
			}
			fail(w, r, http.StatusUnauthorized, "the token is missing or wrong; send it in the header Authorization, as Bearer TOKEN, or "+
				"as the password in a browser")
		case path.Clean("/"+r.URL.Path) != r.URL.Path || r.Method == http.MethodConnect: // the mux would redirect otherwise
			fail(w, r, http.StatusNotFound, "nothing at %.100q", r.URL.Path)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// secure sets the headers of every answer.
func secure(h http.Header) {
	h.Set("Content-Security-Policy", contentPolicy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	h.Set(versionHeader, apiVersion)
}

// unread closes the connection after refusing a request with an unread body. Otherwise net/http would wait for the
// body, and unauthorized clients could hold connections.
func unread(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength != 0 {
		w.Header().Set("Connection", "close")
		_ = http.NewResponseController(w).SetReadDeadline(time.Now())
	}
}

// versionHeader is in every answer and gives the API version; clients recognize a console by it.
const (
	versionHeader = "Kuadrant-Api"
	apiVersion    = "1"
)

// followHeader is in each request of a page that refreshes itself.
const followHeader = "Kuadrant-Follow"

// contentPolicy lets a page load resources from this server only, and forbids framing.
const contentPolicy = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// caught turns a panic into an error answer: no request may end the server.
func (c *console) caught(w http.ResponseWriter, r *http.Request) {
	p := recover()
	if p == nil {
		return
	}
	if err, ok := p.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		panic(p)
	}
	c.Logf("console: request for %.100q failed: %v; please report this\n%s", r.URL.Path, p, debug.Stack())
	fail(w, r, http.StatusInternalServerError, "internal error; see the server's log")
}

// hostAllowed reports whether a Host header is allowed. This stops DNS rebinding: another site could point its name
// here and read the answers.
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

// sameSite reports whether a request comes from this site or from a client that is not a browser. Links from other
// sites are allowed.
func sameSite(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "same-origin", "none":
		return true
	}
	return r.Method == http.MethodGet && r.Header.Get("Sec-Fetch-Mode") == "navigate"
}
