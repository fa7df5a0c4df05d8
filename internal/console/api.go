package console

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/coredns-kuadrant/kuadrant/internal/inspect"
)

// endpoint is one path of the console.
type endpoint struct {
	path   string
	method string
	load   kind
	serve  func(http.ResponseWriter, *http.Request)
}

// Paths of the API. Clients use them too.
const (
	PathServer   = "/api/v1/server"
	PathZones    = "/api/v1/zones"
	PathNames    = "/api/v1/names"
	PathTree     = "/api/v1/tree"
	PathTargets  = "/api/v1/targets"
	PathTroubles = "/api/v1/conflicts"
	PathExplain  = "/api/v1/explain"
	PathWorld    = "/api/v1/world"
	PathPreview  = "/api/v1/preview"
)

// query holds the parameters of a URL, each of which appears once.
type query map[string]string

// readQuery parses the parameters of u. known lists the accepted ones, separated by spaces.
func readQuery(u *url.URL, known string) (query, error) {
	values, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return nil, &inspect.RequestError{
			Field: "query",
			Text:  "invalid query string; write NAME=VALUE&NAME=VALUE",
		}
	}
	names := strings.Fields(known)
	q := make(query, len(values))
	for _, name := range slices.Sorted(maps.Keys(values)) {
		switch {
		case len(names) == 0:
			return nil, &inspect.RequestError{Field: cut(name), Text: "no parameters are allowed here"}
		case !slices.Contains(names, name):
			return nil, &inspect.RequestError{Field: cut(name), Text: "unknown parameter; want one of " + strings.Join(names, ", ")}
		case len(values[name]) > 1:
			return nil, &inspect.RequestError{Field: name, Text: "it appears twice"}
		}
		q[name] = values[name][0]
	}
	if n, err := strconv.Atoi(q["limit"]); q["limit"] != "" && (err != nil || n < 1) {
		return nil, &inspect.RequestError{Field: "limit", Text: fmt.Sprintf("%.20q is not a number from 1 to %d", q["limit"], inspect.MaxPage)}
	}
	return q, nil
}

// cut shortens input for a message.
func cut(s string) string {
	const most = 40
	return strings.ToValidUTF8(s[:min(len(s), most)], "?")
}

// limit returns the requested page size; 0 if none is set.
func (q query) limit() int {
	n, _ := strconv.Atoi(q["limit"])
	return n
}

// answering returns a handler that parses the parameters, calls ask and passes the result to give, or answers with
// the error.
func answering[T any](c *console, known string, ask func(inspect.View, query) (T, error),
	give func(http.ResponseWriter, *http.Request, T),
) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		q, err := readQuery(r.URL, known)
		if err != nil {
			failError(w, r, err)
			return
		}
		v, ok := c.Source.Look()
		if !ok {
			notReady(w, r)
			return
		}
		found, err := ask(v, q)
		if err != nil {
			failError(w, r, err)
			return
		}
		give(w, r, found)
	}
}

// notReady answers that nothing is loaded yet.
func notReady(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Retry-After", "1")
	fail(w, r, http.StatusServiceUnavailable, "no objects are listed yet; the server's log says what is missing")
}

// failError answers with the error of a question.
func failError(w http.ResponseWriter, r *http.Request, err error) {
	of, ok := inspect.IsRequest(err)
	switch {
	case !ok:
		fail(w, r, http.StatusInternalServerError, "internal error")
	case of.NotFound:
		failField(w, r, http.StatusNotFound, of.Field, of.Text)
	default:
		failField(w, r, http.StatusBadRequest, of.Field, of.Text)
	}
}

// Failure is the body of an error.
type Failure struct {
	// Error says what is wrong.
	Error FailureText `json:"error"`
}

// FailureText says what is wrong.
type FailureText struct {
	// Field is the parameter that is wrong, if it is one. Message says what is wrong, and what to write.
	Field   string `json:"field,omitempty"`
	Message string `json:"message"`
	// NotFound reports whether what was asked about does not exist.
	NotFound bool `json:"notFound,omitempty"`
}

// fail answers with an error message.
func fail(w http.ResponseWriter, r *http.Request, status int, format string, args ...any) {
	failField(w, r, status, "", fmt.Sprintf(format, args...))
}

// failField answers with an error message about a parameter.
func failField(w http.ResponseWriter, r *http.Request, status int, field, text string) {
	unread(w, r)
	if !strings.HasPrefix(r.URL.Path, "/api/") {
		failPage(w, r, status, field, text)
		return
	}
	body, err := json.Marshal(Failure{FailureText{field, text, status == http.StatusNotFound}})
	if err != nil {
		body = []byte(`{"error":{"message":"internal error"}}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(body, '\n'))
}

// writeJSON answers with v as JSON.
func writeJSON(w http.ResponseWriter, r *http.Request, v any) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(true)
	if err := enc.Encode(v); err != nil {
		fail(w, r, http.StatusInternalServerError, "internal error")
		return
	}
	write(w, r, "application/json", b.Bytes())
}

// write answers with body, or with 304 if the client has it already.
func write(w http.ResponseWriter, r *http.Request, contentType string, body []byte) {
	sum := sha256.Sum256(body)
	tag := `"` + base64.RawURLEncoding.EncodeToString(sum[:12]) + `"`
	h := w.Header()
	h.Set("ETag", tag)
	h.Set("Cache-Control", "no-cache")
	h.Set("Content-Type", contentType)
	if r.Header.Get("If-None-Match") == tag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	_, _ = w.Write(body)
}
