package direct

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
)

// TestNoRedirect: the client returns a redirect as the response, and sends nothing to the other
// server. The original client is unchanged.
func TestNoRedirect(t *testing.T) {
	var asked atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	defer other.Close()
	for _, code := range []int{http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, other.URL, code) }))
		given := server.Client()
		for _, method := range []string{http.MethodGet, http.MethodPut, http.MethodPatch, http.MethodDelete} {
			request, err := http.NewRequestWithContext(t.Context(), method, server.URL, nil)
			if err != nil {
				t.Fatal(err)
			}
			request.Header.Set("Authorization", "Bearer token")
			response, err := Client(given).Do(request)
			if err != nil {
				t.Fatalf("%s: %d: %v", method, code, err)
			}
			response.Body.Close()
			if response.StatusCode != code || asked.Load() > 0 {
				t.Errorf("%s: %d is answered with %d, and the other server was asked %d times", method, code, response.StatusCode, asked.Load())
			}
		}
		if given.CheckRedirect != nil {
			t.Error("the client that was given has been changed")
		}
		server.Close()
	}
}
