package console

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"net/http"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/coredns-kuadrant/kuadrant/internal/inspect"
)

// MaxManifests is the maximum size of a preview's manifests, in octets.
const MaxManifests = 1 << 20

// manifestTypes are the accepted media types of manifests. Pages of other sites cannot send any of them without a
// CORS preflight.
var manifestTypes = []string{"application/yaml", "application/x-yaml", "application/json"}

// preview serves the preview of the manifests in the body.
func (c *console) preview(w http.ResponseWriter, r *http.Request) {
	q, err := readQuery(r.URL, "cluster prune")
	if err != nil {
		failError(w, r, err)
		return
	}
	prune := false
	if q["prune"] != "" {
		if prune, err = strconv.ParseBool(q["prune"]); err != nil {
			failField(w, r, http.StatusBadRequest, "prune", "must be true or false")
			return
		}
	}
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || !slices.Contains(manifestTypes, kind) {
		fail(w, r, http.StatusUnsupportedMediaType, "send manifests as application/yaml or application/json")
		return
	}
	select {
	case c.load.uploads <- struct{}{}:
		defer func() { <-c.load.uploads }()
	default:
		busy(w, r, time.Second)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxManifests))
	switch tooLarge := (*http.MaxBytesError)(nil); {
	case errors.As(err, &tooLarge):
		fail(w, r, http.StatusRequestEntityTooLarge, "the manifests are larger than %d MiB; send a part of them", MaxManifests>>20)
	case errors.Is(err, os.ErrDeadlineExceeded):
		fail(w, r, http.StatusRequestTimeout, "the manifests did not arrive within %s; send them faster, or a part of them",
			plural(int(requestTimeout.Seconds()), "second"))
	case err != nil:
		fail(w, r, http.StatusBadRequest, "the body ended too early")
	case len(bytes.TrimSpace(body)) == 0:
		fail(w, r, http.StatusBadRequest, "no manifests; send them as the body")
	default:
		c.previewed(w, r, PreviewRequest{Manifests: body, Cluster: q["cluster"], Prune: prune})
	}
}

// previewed answers with the preview of manifests that have been read, unless another preview is running or the
// budget is used up.
func (c *console) previewed(w http.ResponseWriter, r *http.Request, p PreviewRequest) {
	if _, ok := c.Source.Look(); !ok {
		notReady(w, r)
		return
	}
	leave, wait, ok := c.load.preview()
	switch {
	case !ok && wait > 0:
		busy(w, r, wait)
		return
	case !ok:
		again(w, r, time.Second, "another preview is running")
		return
	}
	found, err := func() (*inspect.Preview, error) {
		defer leave()
		return c.Source.Preview(p)
	}()
	if err != nil {
		failError(w, r, err)
		return
	}
	made := kept{ResponseWriter: w, status: http.StatusOK}
	writeJSON(&made, r, found)
	c.send(&made, r)
}
