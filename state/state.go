// Package state keeps on disk what a server has to know to start without an API server: the
// last good objects, who has acquired which names, serials, and what checks have found
// (rules 5.4, 6.7, 7.4 and 4.7).
//
// It is one file of lines of JSON. The first line has the version of the form, when it was
// written, and a checksum over all that follows; each other line is an object with one
// member, whose name says what it is:
//
//	{"cluster": …}        a cluster; the objects after it are its own
//	{"Gateway": …}        an object of that kind, in the form of api.Encode
//	{"Gateway octets": …} the same in the form of api.EncodeOctets
//	{"lacks": "Gateway"}  objects of that kind were left out: they are not all there are
//	{"owner": …}          who has acquired a name
//	{"serial": …}         what a zone was published with last
//	{"health": …}         what checks have found of a target
//	{"remotes": …}        where the Secrets are that name further clusters, if all of these are here
//
// No value of a Secret is in it.
package state

import (
	"encoding/json"
	"iter"
	"time"
	"unicode/utf8"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// version is that of the form. It grows where a reader of the one before would take what is
// written for something else: where an api field gets another meaning, or gets one for zero.
// A field that is new in the api, and means nothing where it is zero, changes nothing.
const version = 1

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
	// Remotes identifies the place of the Secrets that name further clusters, where all of these
	// are among Clusters; "" where there may be more.
	Remotes string
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
}

// header is the first line.
type header struct {
	Version int       `json:"kuadrant-state"`
	Written time.Time `json:"written"`
	Runs    int       `json:"runs"`   // Contents.Runs
	Size    int64     `json:"size"`   // octets after the line
	Sum     string    `json:"sha256"` // of these, in hexadecimal
}

// clusterLine is the line of a cluster.
type clusterLine struct {
	Name      text                   `json:"name"`
	UID       text                   `json:"uid"`
	Identity  string                 `json:"identity"`
	Selection string                 `json:"selection"`
	Heard     time.Time              `json:"heard"`
	Listings  map[string]listingLine `json:"listings"` // by kind
	// PoolsIn are the namespaces in which its objects pool; nil for all.
	PoolsIn *[]string `json:"poolsIn,omitempty"`
}

// text is written as a list of octets where it is not UTF-8: the names of directories may be
// anything.
type text string

// MarshalJSON implements json.Marshaler.
func (t text) MarshalJSON() ([]byte, error) {
	if utf8.ValidString(string(t)) {
		return json.Marshal(string(t))
	}
	octets := make([]int, len(t))
	for i := range len(t) {
		octets[i] = int(t[i])
	}
	return json.Marshal(octets)
}

// UnmarshalJSON implements json.Unmarshaler.
func (t *text) UnmarshalJSON(b []byte) error {
	if b[0] == '"' {
		return json.Unmarshal(b, (*string)(t))
	}
	var octets []uint16
	if err := json.Unmarshal(b, &octets); err != nil {
		return err
	}
	all := make([]byte, len(octets))
	for i, o := range octets {
		all[i] = byte(o)
	}
	*t = text(all)
	return nil
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
