// Package state keeps on disk what a server needs to start without an API server: the last good
// objects, the owners of names, zone serials and check results (rules 5.4, 6.7, 7.4 and 4.7).
//
// The state is one file of JSON lines. The first line holds the format version, the time of writing, a
// checksum of all that follows and a checksum of itself. Each other line is an object with one member,
// whose name gives its meaning:
//
//	{"cluster": …}        a cluster; its objects follow
//	{"Gateway": …}        an object of that kind, in the form of api.Encode
//	{"lacks": "Gateway"}  objects of that kind were omitted, so the list is incomplete
//	{"secrets": …}        where the Secrets that name clusters are, if all of these are known
//	{"groups": …}         the active groups of a zone
//	{"owner": …}          the owner of a name
//	{"serial": …}         what a zone was last published with
//	{"health": …}         the state of a target
//
// The file holds no value of a Secret.
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

// version is the version of the file format. It grows if a reader of the previous version would misread the file: if
// an api field changes its meaning, or its zero value gets one. A new field whose zero value means nothing does not
// change it.
const version = 2

// Name is the file's name in its directory.
const Name = "kuadrant-state.json"

const (
	// maxSize is the maximum size to read or write, in octets.
	maxSize = 1 << 30
	// maxLine is the maximum length of a line in octets, far above that of any Kubernetes object.
	maxLine = 8 << 20
)

// Contents holds what the state file keeps.
type Contents struct {
	// Written is when the file was written.
	Written time.Time
	// Runs is the number of runs that may have published more than the file holds: 0 if its writer then stopped.
	Runs     int
	Clusters []Cluster
	// Place is where the Secrets that name clusters are, in the form of Cluster.Place, if names were denied with all
	// those clusters known; "" while some may be unknown.
	Place string
	// Groups are those of api.Objects.ActiveGroups.
	Groups map[string]*api.ActiveGroups
	// Owners are those of api.Objects.Acquired. Serials hold what each zone was last published with, by zone name
	// with a final dot. Health holds the state of each target, by its key. Keys are unique. Read sets all three.
	Owners  iter.Seq2[string, api.Owner]
	Serials iter.Seq2[string, api.Kept]
	Health  iter.Seq2[string, string]
}

// Cluster is a cluster and its source.
type Cluster struct {
	*api.Cluster
	// Identity identifies the source; Selection says which objects were to be read.
	Identity, Selection string
	// Heard is the last time when the objects were known to match the source.
	Heard time.Time
	// Place is where the Secret that names the cluster is, in the words of the code that follows such Secrets; "" if
	// the Corefile names the cluster. It holds nothing from the Secret.
	Place string
}

// header is the first line.
type header struct {
	Version int       `json:"kuadrant-state"`
	Written time.Time `json:"written"`
	Runs    int       `json:"runs"`                  // Contents.Runs
	Size    int64     `json:"size"`                  // octets after this line
	Sum     string    `json:"sha256"`                // SHA-256 of these octets, in hexadecimal
	Line    string    `json:"line-sha256,omitempty"` // checksum of the fields above, as written
}

// headerSize is the length of the first line in octets. It is fixed because the line is rewritten in place once the
// checksum is known.
const headerSize = 256

// beginning is the start of the first line in every version.
const beginning = `{"kuadrant-state":`

// encode returns the first line, with its checksum. A reader compares all its octets with encode's result for the
// values read, so any change in the line is found.
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

type clusterLine struct {
	// Name and UID are strings. In the first edition, values that are not UTF-8 are lists of octets.
	Name      any                    `json:"name"`
	UID       any                    `json:"uid"`
	Identity  string                 `json:"identity"`
	Selection string                 `json:"selection"`
	Heard     time.Time              `json:"heard"`
	Listings  map[string]listingLine `json:"listings"` // by kind
	// PoolsIn are the namespaces whose objects pool; nil for all.
	PoolsIn *[]string `json:"poolsIn,omitempty"`
	// Group is the cluster's (rule 9.5).
	Group string `json:"group,omitempty"`
	// Place is Cluster.Place.
	Place string `json:"secrets,omitempty"`
}

type listingLine struct {
	State string   `json:"state"`
	In    []string `json:"in,omitempty"` // the namespaces that are listed although State is "not listed"
}

// listings are the names of the api.Listing values.
var listings = [...]string{"not listed", "listed", "not installed", "not watched", "missing"}

type groupsLine struct {
	Zone   string   `json:"zone"`
	Active []string `json:"active"`
}

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
