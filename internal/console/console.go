// Package console shows what a server answers and why: web pages and the JSON API behind them (docs/console.md). It
// is read-only. It limits the cost of each request and of all requests together, so that queries are not delayed.
package console

import (
	"net/http"
	"time"

	"golang.org/x/time/rate"

	"github.com/coredns-kuadrant/kuadrant/internal/inspect"
)

// Source is the server to show. It must be safe for concurrent use.
type Source interface {
	// Look returns a view of what queries are answered from now; ok is false until there is something to answer from.
	Look() (view inspect.View, ok bool)
	Server() Server
	// Preview returns what would change if manifests were applied. The error is an *inspect.RequestError if the
	// manifests or the other parameters are wrong.
	Preview(PreviewRequest) (*inspect.Preview, error)
}

// Server is the state of a server.
type Server struct {
	// Version is that of the plugin. Host is the name of the machine; with Pod, that of the pod. Started is when the server began.
	Version string    `json:"version"`
	Host    string    `json:"host"`
	Pod     bool      `json:"pod,omitempty"`
	Started time.Time `json:"started,omitzero"`
	// Ready is what /ready of CoreDNS says of the plugin. Snapshot is when the newest one was made;
	// zero before the first.
	Ready    bool      `json:"ready"`
	Snapshot time.Time `json:"snapshot,omitzero"`
	// Clusters are sorted by name.
	Clusters []Cluster `json:"clusters"`
	// FailOpens are the first hosts for which nothing is up. FailingOpen is how many there are.
	FailOpens   []FailOpen `json:"failOpens"`
	FailingOpen int        `json:"failingOpen"`
	// Held are removals that the guard holds back (rule 8.5).
	Held []Held `json:"held"`
	// Unregistered is how many names have had no line in the registry for a minute, by zone, if this server writes it (rule 5.4).
	Unregistered map[string]int `json:"unregistered,omitempty"`
	// UnreadOwners is how many names have owners that cannot be read now.
	UnreadOwners int `json:"unreadOwners"`
	// Targets is how many targets are checked. Overdue is how many seconds the latest check is late.
	Targets int     `json:"targets"`
	Overdue float64 `json:"overdueSeconds"`
	// Overrides are the first lines of the override file (rule 4.5). OverridesInForce is how many there are.
	Overrides        []string `json:"overrides"`
	OverridesInForce int      `json:"overridesInForce"`
	// TokenProblem says why the token file cannot be used.
	TokenProblem string `json:"tokenProblem,omitempty"`
	// Since is since when there are unreadOwners, overrides, failingOpen.
	Since map[string]time.Time `json:"since"`
	// Events are the last lines of the plugin's log, the newest first.
	Events []Event `json:"events"`
}

// The keys of Server.Since.
const (
	SinceUnread    = "unreadOwners"
	SinceOverrides = "overrides"
	SinceFailing   = "failingOpen"
)

// Event is one line of the log.
type Event struct {
	// At is when it was written. Text is what it says. Warning is true for what needs attention.
	At      time.Time `json:"at"`
	Text    string    `json:"text"`
	Warning bool      `json:"warning,omitempty"`
}

// PreviewRequest is a set of manifests and how to apply them.
type PreviewRequest struct {
	Manifests []byte // YAML or JSON documents
	// Cluster is where to apply them; "" for the only cluster.
	Cluster string
	// Prune deletes objects that the manifests lack, of the same kinds and in the same namespaces.
	Prune bool
}

// Cluster is the state of one cluster.
type Cluster struct {
	// Name is that of the Corefile or a Secret.
	Name string `json:"name"`
	// Synced is true while everything is listed and followed, and Lost is when that ended last;
	// LastEvent is when anything was heard.
	Synced    bool      `json:"synced"`
	Lost      time.Time `json:"lost,omitzero"`
	LastEvent time.Time `json:"lastEvent,omitzero"`
	// Problem says what is wrong with a directory of manifests.
	Problem string `json:"problem,omitempty"`
	// FromState reports whether something is answered from the state on disk.
	FromState bool `json:"fromState,omitempty"`
	// Written is true if this server may write back; Leader is true while it does. Writer is the host or pod that holds the Lease, if
	// known. Backlog is how many objects are queued.
	Written bool   `json:"written"`
	Leader  bool   `json:"leader"`
	Writer  string `json:"writer,omitempty"`
	Backlog int    `json:"backlog"`
}

// FailOpen is a host for which nothing is up.
type FailOpen struct {
	// Host is its name.
	Host string `json:"host"`
	// Whom says who gets what is down: "all clients", or some. Since is when that began.
	Whom  string    `json:"whom"`
	Since time.Time `json:"since,omitzero"`
}

// Held is what the guard holds back in one zone.
type Held struct {
	// Zone is its name. Names is how many of its names are held. Since is when they were missed
	// first, and Until when they go.
	Zone  string    `json:"zone"`
	Names int       `json:"names"`
	Since time.Time `json:"since,omitzero"`
	Until time.Time `json:"until"`
}

// Options says who may use the console.
type Options struct {
	Source Source
	// Token, if not nil, is required in the header of each request.
	Token *Token
	// Hosts are the names accepted in the Host header, besides IP addresses and localhost.
	Hosts []string
	// Logf logs problems, one line each; nil drops them. Infof logs recoveries; nil means Logf.
	Logf, Infof func(format string, args ...any)
}

// console is the state that handlers share.
type console struct {
	Options
	load     *load
	troubles memo[*inspect.Troubles]
	targets  memo[*inspect.TargetPage]
	worst    memo[*inspect.NamePage]
}

// Timeouts and sizes of the server that HTTPServer returns.
const (
	headerTimeout  = 5 * time.Second
	requestTimeout = 30 * time.Second // to read a whole request
	answerTimeout  = requestTimeout + 10*time.Second
	idleTimeout    = 10 * time.Second // a page that follows sends a request every two seconds
	maxHeader      = 16 << 10         // octets
	// MaxConnections is the maximum number of open connections. Others wait.
	MaxConnections = 256
)

// HTTPServer returns a server, with limits, for a handler of New. Bounded limits its listener.
func HTTPServer(h http.Handler) *http.Server {
	return &http.Server{
		Handler: paced(h, rate.NewLimiter(requestRate, requestBurst)), ReadHeaderTimeout: headerTimeout, ReadTimeout: requestTimeout,
		WriteTimeout: answerTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader, DisableGeneralOptionsHandler: true,
	}
}
