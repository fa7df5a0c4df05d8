package charts

import (
	"io"
	"net/http"
	"testing"

	"k8s.io/client-go/rest"
)

// status returns the status that a path of an API server is answered with, 0 where it is not.
func status(t *testing.T, config *rest.Config, path string) int {
	t.Helper()
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	return get(client, config.Host+path)
}

// get returns the status that a URL is answered with, 0 where it is not.
func get(client *http.Client, url string) int {
	resp, err := client.Get(url)
	if err != nil {
		return 0
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode
}
