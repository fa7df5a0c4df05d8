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
	"sync/atomic"
	"time"

	"github.com/coredns-kuadrant/kuadrant/inspect"
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
		unread(w, r)
		failError(w, r, err)
		return
	}
	prune := false
	if q["prune"] != "" {
		if prune, err = strconv.ParseBool(q["prune"]); err != nil {
			unread(w, r)
			failField(w, r, http.StatusBadRequest, "prune", "it is neither true nor false")
			return
		}
	}
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || !slices.Contains(manifestTypes, kind) {
		unread(w, r)
		fail(w, r, http.StatusUnsupportedMediaType, "send manifests as application/yaml or application/json")
		return
	}
	if r.ContentLength > MaxManifests {
		unread(w, r)
		fail(w, r, http.StatusRequestEntityTooLarge, "the manifests have more than %d MiB: send a part of them", MaxManifests>>20)
		return
	}
	upload := &upload{Reader: http.MaxBytesReader(w, r.Body, MaxManifests), held: &c.load.uploaded}
	defer upload.end()
	body, err := io.ReadAll(upload)
	if errors.Is(err, errUploads) {
		unread(w, r)
		busy(w, r, time.Second)
		return
	}
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		fail(w, r, http.StatusRequestEntityTooLarge, "the manifests have more than %d MiB: send a part of them", MaxManifests>>20)
		return
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		w.Header().Set("Connection", "close")
		fail(w, r, http.StatusRequestTimeout, "the manifests have not come within %s: send them faster, or a part of them",
			plural(int(requestTimeout.Seconds()), "second"))
		return
	}
	if err != nil {
		fail(w, r, http.StatusBadRequest, "the body ended too early")
		return
	}
	if len(bytes.TrimSpace(body)) == 0 {
		fail(w, r, http.StatusBadRequest, "there are no manifests: send them as the body")
		return
	}
	if _, ok := c.Source.Look(); !ok {
		notReady(w, r)
		return
	}
	found, wait, ok, err := c.previewed(PreviewRequest{Manifests: body, Cluster: q["cluster"], Prune: prune})
	switch {
	case !ok && wait > 0:
		busy(w, r, wait)
		return
	case !ok:
		again(w, r, time.Second, "another preview is being made")
		return
	}
	if err != nil {
		failError(w, r, err)
		return
	}
	made := kept{ResponseWriter: w, status: http.StatusOK}
	writeJSON(&made, r, found)
	c.send(&made, r)
}

// previewed asks for a preview, now that its manifests are there; ok is false where another one is being made, or may be made after
// wait alone.
func (c *console) previewed(p PreviewRequest) (found *inspect.Preview, wait time.Duration, ok bool, err error) {
	leave, wait, ok := c.load.preview()
	if !ok {
		return nil, wait, false, nil
	}
	defer leave()
	found, err = c.Source.Preview(p)
	return found, 0, true, err
}

// maxUploaded is how many octets of manifests are held at a time, of all requests.
const maxUploaded = 8 * MaxManifests

// errUploads is the error of an upload for which there is no room.
var errUploads = errors.New("too many uploads")

// upload is a body that counts against what is held.
type upload struct {
	io.Reader
	held *atomic.Int64
	n    int64
}

// Read implements io.Reader.
func (u *upload) Read(p []byte) (int, error) {
	n, err := u.Reader.Read(p)
	u.n += int64(n)
	if u.held.Add(int64(n)) > maxUploaded {
		err = errUploads
	}
	return n, err
}

// end gives the room back.
func (u *upload) end() { u.held.Add(-u.n) }
