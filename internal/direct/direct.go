// Package direct keeps HTTP clients on the server that they were told to speak to.
package direct

import "net/http"

// Client returns one like client, which follows no redirect: an API server does not send its clients
// on, and a token is for nobody else.
func Client(client *http.Client) *http.Client {
	own := *client
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &own
}
