// Package direct keeps HTTP clients from following redirects to other servers.
package direct

import "net/http"

// Client returns a copy of client that follows no redirect: an API server does not redirect its
// clients, and a token is for that server alone.
func Client(client *http.Client) *http.Client {
	own := *client
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &own
}
