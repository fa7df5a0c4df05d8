package kuadrant

import (
	"strings"
	"sync"
	"sync/atomic"

	"github.com/coredns/coredns/plugin"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/coredns-kuadrant/kuadrant/geo"
	"github.com/coredns-kuadrant/kuadrant/records"
)

// The collectors of the project, with those of state.go. Their names and labels
// are fixed in README.md.
var (
	compileDuration = promauto.NewHistogram(prometheus.HistogramOpts{
		Namespace: plugin.Namespace, Subsystem: pluginName, Name: "compile_duration_seconds",
		Help:    "How long compiling a change took.",
		Buckets: prometheus.ExponentialBuckets(1e-5, 4, 10),
	})
	steeredTotal = promauto.NewCounterVec(prometheus.CounterOpts{
		Namespace: plugin.Namespace, Subsystem: pluginName, Name: "requests_steered_total",
		Help: "Answers from policies, by zone, geo code of the chosen member and class of the choice.",
	}, []string{"zone", "geo", "class"})
	locatedTotal = promauto.NewCounterVec(prometheus.CounterOpts{
		Namespace: plugin.Namespace, Subsystem: pluginName, Name: "clients_located_total",
		Help: "Answers from policies, by what located the client: ecs, source, or none where the client does not matter.",
	}, []string{"by"})
)

var (
	locatedByECS    = locatedTotal.WithLabelValues("ecs")
	locatedBySource = locatedTotal.WithLabelValues("source")
	locatedByNone   = locatedTotal.WithLabelValues("none")
)

// steeredKey is what the labels of steeredTotal are made of.
type steeredKey struct {
	zone  string
	geo   geoClass
	class records.Class
}

// geoClass is the form in which a geo code is counted. There are about 500: the
// codes themselves are written by tenants, and have no bound.
type geoClass struct {
	code string // that of a continent or a country, "*", or one word for a sort
	part bool   // for the subdivisions of the country
}

// The words for codes that are counted as one.
const (
	geoAS      = "ASN"     // AS numbers
	geoUnknown = "unknown" // codes that match no client
)

func (g geoClass) String() string {
	if g.part {
		return g.code + "-*"
	}
	return g.code
}

// classifyGeo returns the form in which code, in upper case, is counted: that of
// geo.Check, which allocates for some codes.
func classifyGeo(code string) geoClass {
	switch {
	case code == "*":
		return geoClass{code: code}
	case len(code) == 2 && isCountry(code), isContinent(code):
		return geoClass{code: code}
	case isASNumber(code):
		return geoClass{code: geoAS}
	case len(code) > 3 && code[2] == '-' && isCountry(code) && isPart(code[3:]):
		return geoClass{code: code[:2], part: true}
	}
	return geoClass{code: geoUnknown}
}

// countries are those that geo knows, by their two letters.
var countries = func() (known [26][26]bool) {
	for i := range known {
		for j := range known[i] {
			known[i][j] = geo.Check(string([]byte{'A' + byte(i), 'A' + byte(j)})) == nil
		}
	}
	return known
}()

// isCountry tells whether the first two letters of code are a country.
func isCountry(code string) bool {
	i, j := code[0]-'A', code[1]-'A'
	return i < 26 && j < 26 && countries[i][j]
}

func isContinent(code string) bool {
	switch code {
	case "GEO-AF", "GEO-AN", "GEO-AS", "GEO-EU", "GEO-NA", "GEO-OC", "GEO-SA":
		return true
	}
	return false
}

// isASNumber tells whether code is AS and a number from 1 to 4294967295, without
// zeros before it.
func isASNumber(code string) bool {
	if len(code) < 3 || len(code) > 12 || code[:2] != "AS" || code[2] == '0' {
		return false
	}
	n := uint64(0)
	for i := 2; i < len(code); i++ {
		if code[i] < '0' || code[i] > '9' {
			return false
		}
		n = n*10 + uint64(code[i]-'0')
	}
	return n < 1<<32
}

// isPart tells whether s is what follows the hyphen of an ISO 3166-2 code.
func isPart(s string) bool {
	for i := range len(s) {
		if (s[i] < 'A' || s[i] > 'Z') && (s[i] < '0' || s[i] > '9') {
			return false
		}
	}
	return len(s) > 0 && len(s) <= 3
}

// steeredCounters finds the counter of a steeredKey without formatting labels.
// The map is never changed, only replaced: queries read it without a lock.
var steeredCounters struct {
	sync.Mutex
	counters atomic.Pointer[map[steeredKey]prometheus.Counter]
}

func steeredCounter(key steeredKey) prometheus.Counter {
	if m := steeredCounters.counters.Load(); m != nil {
		if c, ok := (*m)[key]; ok {
			return c
		}
	}
	steeredCounters.Lock()
	defer steeredCounters.Unlock()
	next := make(map[steeredKey]prometheus.Counter)
	if m := steeredCounters.counters.Load(); m != nil {
		for k, c := range *m {
			next[k] = c
		}
	}
	key.geo.code = strings.Clone(key.geo.code) // it may be a part of an object
	c := steeredTotal.WithLabelValues(label(key.zone), key.geo.String(), key.class.String())
	next[key] = c
	steeredCounters.counters.Store(&next)
	return c
}

// label returns text as it may stand in a label.
func label(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }

// countAnswer counts an answer for which a policy's data was chosen.
func countAnswer(l *lookup) {
	a := &l.answer
	if !chosen(a) {
		return
	}
	steeredCounter(steeredKey{zone: l.zone, geo: classifyGeo(a.Geo), class: a.Class}).Inc()
	switch {
	case !a.Located || l.unlocated:
		locatedByNone.Inc()
	case l.subnetLocated:
		locatedByECS.Inc()
	default:
		locatedBySource.Inc()
	}
}

// chosen tells whether a holds a choice of a policy's data. The first CNAME of a
// chain is the same whatever is chosen below it, and nothing is chosen for it;
// nor for what a policy's name does not have.
func chosen(a *records.Answer) bool {
	return a.Steered() && a.Geo != "" && len(a.Answer) > 0
}
