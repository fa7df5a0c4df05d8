// Package direct keeps HTTP clients from following redirects to other servers, and from waiting for
// silent ones.
package direct

import (
	"net/http"
	"sync"
	"time"
)

// silence is how long an HTTP/2 connection may be silent before it is tested, and then how long the
// answer may take. client-go allows 30 and 15 seconds: so long would nothing be seen of an API
// server that has restarted behind a load balancer, which drops what old connections send.
const silence = 5 * time.Second

// Client returns a copy of client that follows no redirect: an API server does not redirect its
// clients, and a token is for that server alone. It has the client's HTTP/2 connections closed when
// the server is silent.
func Client(client *http.Client) *http.Client {
	own := *client
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	setSilence(own.Transport)
	return &own
}

// setting guards the field that setSilence sets: client-go shares transports among clients with the
// same configuration.
var setting sync.Mutex

// setSilence sets how long connections may be silent, unless that was set before.
func setSilence(rt http.RoundTripper) {
	switch t := rt.(type) {
	case *http.Transport:
		setting.Lock()
		defer setting.Unlock()
		if t.HTTP2 == nil {
			t.HTTP2 = &http.HTTP2Config{SendPingTimeout: silence, PingTimeout: silence}
		}
	case interface{ WrappedRoundTripper() http.RoundTripper }:
		setSilence(t.WrappedRoundTripper())
	}
}
