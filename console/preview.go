package console

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"slices"
	"strconv"
)

// MaxManifests is how many octets of manifests a preview takes.
const MaxManifests = 1 << 20

// manifestTypes are the types that a body of manifests may have. None of them is one that a page elsewhere can
// send without asking first.
var manifestTypes = []string{"application/yaml", "application/x-yaml", "application/json"}

// preview answers what would differ if the manifests in the body were applied.
func (c *console) preview(w http.ResponseWriter, r *http.Request) {
	q, err := readQuery(r.URL, "cluster prune")
	if err != nil {
		failError(w, r, err)
		return
	}
	prune := false
	if q["prune"] != "" {
		if prune, err = strconv.ParseBool(q["prune"]); err != nil {
			failField(w, r, http.StatusBadRequest, "prune", "it is neither true nor false")
			return
		}
	}
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || !slices.Contains(manifestTypes, kind) {
		fail(w, r, http.StatusUnsupportedMediaType, "send manifests as application/yaml or application/json")
		return
	}
	if r.ContentLength > MaxManifests {
		fail(w, r, http.StatusRequestEntityTooLarge, "the manifests have more than %d MiB: send a part of them", MaxManifests>>20)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxManifests))
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		fail(w, r, http.StatusRequestEntityTooLarge, "the manifests have more than %d MiB: send a part of them", MaxManifests>>20)
		return
	}
	if err != nil {
		fail(w, r, http.StatusBadRequest, "the body ended too early")
		return
	}
	if _, ok := c.Source.Look(); !ok {
		notReady(w, r)
		return
	}
	found, err := c.Source.Preview(PreviewRequest{Manifests: body, Cluster: q["cluster"], Prune: prune})
	if err != nil {
		failError(w, r, err)
		return
	}
	writeJSON(w, r, found)
}
