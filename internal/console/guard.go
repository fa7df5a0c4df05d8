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

// guarded lets in whom the options let in, and makes every answer one that a browser shows nothing
// else with.
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
			if r.Header.Get(followHeader) == "" { // a browser would ask for a password while nobody has done anything
				w.Header().Set("WWW-Authenticate", `Basic realm="kuadrant", charset="UTF-8"`)
			}
			fail(w, r, http.StatusUnauthorized, "the token is missing or wrong; send it in the header Authorization, as Bearer TOKEN, or "+
				"as the password in a browser")
		case path.Clean("/"+r.URL.Path) != r.URL.Path || r.Method == http.MethodConnect: // else the mux would redirect
			fail(w, r, http.StatusNotFound, "nothing at %.100q", r.URL.Path)
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

// unread ends the connection after a failure to answer a request with a body: net/http would wait for what nobody has read of it before
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
const contentPolicy = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// caught turns a panic into an answer: nothing that a browser sends may end the server.
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

// hostAllowed reports whether a header Host is one that people write: a page elsewhere can have its
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

// sameSite reports whether a request comes from this page, or from somebody who is no browser. Links from
// elsewhere may lead here.
func sameSite(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "same-origin", "none":
		return true
	}
	return r.Method == http.MethodGet && r.Header.Get("Sec-Fetch-Mode") == "navigate"
}
