// Package state keeps on disk what a server has to know to start without an API server: the
// last good objects, who has acquired which names, serials, and what checks have found
// (rules 5.4, 6.7, 7.4 and 4.7).
//
// It is one file of lines of JSON. The first line has the version of the form, when it was
// written, a checksum over all that follows, and one over itself; each other line is an object
// with one member, whose name says what it is:
//
//	{"cluster": …}        a cluster; the objects after it are its own
//	{"Gateway": …}        an object of that kind, in the form of api.Encode
//	{"lacks": "Gateway"}  objects of that kind were left out: they are not all there are
//	{"secrets": …}        where the Secrets are that name clusters, where all of these are known
//	{"owner": …}          who has acquired a name
//	{"serial": …}         what a zone was published with last
//	{"health": …}         what checks have found of a target
//
// No value of a Secret is in it.
package state

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"iter"
	"time"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// version is that of the form. It grows where a reader of the one before would take what is
// written for something else: where an api field gets another meaning, or gets one for zero.
// A field that is new in the api, and means nothing where it is zero, changes nothing.
const version = 2

// Name is that of the file in its directory.
const Name = "kuadrant-state.json"

const (
	// maxSize is the most octets that are read or written.
	maxSize = 1 << 30
	// maxLine is the most octets of one line, far more than Kubernetes' objects have.
	maxLine = 8 << 20
)

// Contents is what the file holds.
type Contents struct {
	// Written is when that was.
	Written time.Time
	// Runs is how many runs of a server may have published more than it says: 0 where the one
	// that has written it stopped then.
	Runs     int
	Clusters []Cluster
	// Place is where the Secrets are that name clusters, as Cluster.Place has it, where names
	// were denied in view of all of these; "" while there may be clusters that are not known.
	Place string
	// Owners are those of api.Objects.Acquired, Serials what each zone was published with
	// last, by its name with a final dot, and Health the state of each target, by its key.
	// Each key is there once. None is nil in what was read.
	Owners  iter.Seq2[string, api.Owner]
	Serials iter.Seq2[string, api.Kept]
	Health  iter.Seq2[string, string]
}

// Cluster is a cluster with where it was read from.
type Cluster struct {
	*api.Cluster
	// Identity is that of the source; Selection says which objects it was to read.
	Identity, Selection string
	// Heard is until when the objects are known to have been those of the source.
	Heard time.Time
	// Place is where the Secret is that names the cluster, in the words of whoever follows
	// such Secrets; "" if the Corefile names it. Nothing that the Secret holds is in it.
	Place string
}

// header is the first line.
type header struct {
	Version int       `json:"kuadrant-state"`
	Written time.Time `json:"written"`
	Runs    int       `json:"runs"`                  // Contents.Runs
	Size    int64     `json:"size"`                  // octets after the line
	Sum     string    `json:"sha256"`                // of these, in hexadecimal
	Line    string    `json:"line-sha256,omitempty"` // the checksum of the fields above, as they are written
}

// headerSize is how many octets the first line has: it is written last, when the sum is
// known, and again in its place.
const headerSize = 256

// beginning is how the first line begins in every version.
const beginning = `{"kuadrant-state":`

// encode returns the first line, with its checksum. Who reads compares all of its octets with what
// this returns for what was read: nothing in it may have changed.
func (h header) encode() ([]byte, error) {
	h.Line = ""
	text, err := json.Marshal(h)
	if err == nil {
		sum := sha256.Sum256(text)
		h.Line = hex.EncodeToString(sum[:])
		text, err = json.Marshal(h)
	}
	if err != nil {
		return nil, err
	}
	if len(text) >= headerSize {
		return nil, fmt.Errorf("first line of %d octets, more than the %d allowed", len(text), headerSize-1)
	}
	line := bytes.Repeat([]byte{' '}, headerSize)
	copy(line, text)
	line[headerSize-1] = '\n'
	return line, nil
}

// clusterLine is the line of a cluster.
type clusterLine struct {
	// Name and UID are strings. The first edition has lists of octets for what is not UTF-8.
	Name      any                    `json:"name"`
	UID       any                    `json:"uid"`
	Identity  string                 `json:"identity"`
	Selection string                 `json:"selection"`
	Heard     time.Time              `json:"heard"`
	Listings  map[string]listingLine `json:"listings"` // by kind
	// PoolsIn are the namespaces in which its objects pool; nil for all.
	PoolsIn *[]string `json:"poolsIn,omitempty"`
	// Place is Cluster.Place.
	Place string `json:"secrets,omitempty"`
}

type listingLine struct {
	State string   `json:"state"`
	In    []string `json:"in,omitempty"` // the namespaces that are listed nonetheless
}

// listings are the words for api.Listing.
var listings = [...]string{"not listed", "listed", "not installed", "not watched", "missing"}

type ownerLine struct {
	Name  string    `json:"name"`
	Owner api.Owner `json:"owner"`
}

type serialLine struct {
	Zone   string `json:"zone"`
	Hash   string `json:"hash,omitempty"`
	Serial uint32 `json:"serial"`
}

type healthLine struct {
	Target string `json:"target"`
	State  string `json:"state"`
}
