// Package state keeps on disk what a server needs to start without an API server (rules 5.4, 6.7, 7.4 and 4.7). One file has the
// last good objects, the owners of names and check results. A small one has the serials of zones: it is written before a serial is
// shown, and outlives what this version cannot read.
//
// Both are JSON lines, and docs/state.md has their format. The first line has the version of the format, and the last one the
// checksum of all before it. Each other line is an object with one member, whose name gives its meaning:
//
//	{"cluster": …}        a cluster; its objects follow
//	{"Gateway": …}        an object of that kind, in the form of api.Encode
//	{"secrets": …}        where the Secrets that name clusters are, if all of these are known
//	{"groups": …}         the active groups of a zone
//	{"owner": …}          the owner of a name
//	{"health": …}         the state of a target
//	{"serial": …}         in the small file: what a zone was last published with
//
// No file holds a value of a Secret.
package state

import (
	"iter"
	"time"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// version is the version of the format. It grows if a reader of the previous version would misread a file: if a member changes its
// meaning, or its absence gets one. It need not grow for a new member: an older reader refuses a file with one.
const version = 3

// The files' names in their directory.
const (
	Name        = "kuadrant-state.json"
	SerialsName = "kuadrant-serials.json"
)

// maxSize is the maximum size to read or write, in octets.
const maxSize = 1 << 30

// Contents holds what the large file keeps.
type Contents struct {
	// Written is when the file was written.
	Written  time.Time
	Clusters []Cluster
	// Place is where the Secrets that name clusters are, in the form of Cluster.Place, if names were denied with all
	// those clusters known; "" while some may be unknown.
	Place string
	// Groups are those of api.Objects.ActiveGroups.
	Groups map[string]*api.ActiveGroups
	// Owners are those of api.Objects.Acquired. Health holds the state of each target, by its key. Keys are unique. Read sets both.
	Owners iter.Seq2[string, api.Owner]
	Health iter.Seq2[string, string]
}

// Serials hold what each zone was last published with, by its name with a final dot. One without a hash is a bound: versions up to
// that serial may have been published.
type Serials map[string]api.Kept

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

// beginning is the start of a file in every version.
const beginning = `{"kuadrant-state":`

// firstLine is the first line.
type firstLine struct {
	Version int       `json:"kuadrant-state"`
	Written time.Time `json:"written"`
}

// lastLine is the format of the last line, and lastSize its length: the checksum is a SHA-256 in hexadecimal.
const (
	lastLine = `{"sha256":"%x"}` + "\n"
	lastSize = len(`{"sha256":""}`) + 64 + 1
)

type clusterLine struct {
	Name      string                 `json:"name"`
	UID       string                 `json:"uid"`
	Identity  string                 `json:"identity"`
	Selection string                 `json:"selection"`
	Heard     time.Time              `json:"heard"`
	Listings  map[string]listingLine `json:"listings"` // by kind
	// PoolsIn are the namespaces whose objects pool; nil for all.
	PoolsIn *[]string `json:"poolsIn"`
	// Group is the cluster's (rule 9.5).
	Group string `json:"group"`
	// Place is Cluster.Place.
	Place string `json:"secrets"`
}

type listingLine struct {
	State string   `json:"state"`
	In    []string `json:"in"` // the namespaces that are listed although State is "not listed"
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
	Hash   string `json:"hash"`
	Serial uint32 `json:"serial"`
}

type healthLine struct {
	Target string `json:"target"`
	State  string `json:"state"`
}
