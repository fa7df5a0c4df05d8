package kuadrant

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
)

// refusers are the addresses that do not take NOTIFY, as the Corefile's `to` has them. Of
// what fails for long each has one line in the log, so that none hides another.
type refusers map[string]*refuser

// refuser is one address that does not take NOTIFY.
type refuser struct {
	zones map[refusal]struct{}
	// silent and unwilling tell what of it was logged: that nothing comes back, which
	// concerns the server, and that an answer says no, which may concern one zone alone.
	silent, unwilling bool
}

// refusal is what an address does not take: a zone that a server block tells it of.
type refusal struct {
	by   *listening
	zone string
}

// unnamed stands for the address where CoreDNS names none.
const unnamed = "unknown"

// notTaken is what is said of an address for one NOTIFY.
type notTaken struct {
	to, why string
	answer  bool // one came, and says no
}

// note takes in what a NOTIFY has ended with, nil where all have taken it. It counts
// failures, and returns what is to be logged: the addresses for which that begins, and
// those for which all of it has ended.
func (r refusers) note(about refusal, err error) (begun []notTaken, ended []string) {
	failed := make(map[string]bool)
	for _, f := range takenApart(err) {
		failed[f.to] = true
		notifyFailures.WithLabelValues(label(f.to)).Inc()
		at := r[f.to]
		if at == nil {
			at = &refuser{zones: make(map[refusal]struct{})}
			r[f.to] = at
		}
		at.zones[about] = struct{}{}
		said := &at.silent
		if f.answer {
			said = &at.unwilling
		}
		if !*said {
			*said, begun = true, append(begun, f)
		}
	}
	for to := range r {
		if !failed[to] && r.drop(to, about) {
			ended = append(ended, to)
		}
	}
	slices.Sort(ended)
	return begun, ended
}

// forget drops what is not tried any more.
func (r refusers) forget(about refusal) {
	for to := range r {
		r.drop(to, about)
	}
}

// drop takes one refusal from an address, and tells whether it was the last.
func (r refusers) drop(to string, about refusal) bool {
	at := r[to]
	if _, ok := at.zones[about]; !ok {
		return false
	}
	delete(at.zones, about)
	if len(at.zones) > 0 {
		return false
	}
	delete(r, to)
	return true
}

// ofAddress reads the error that CoreDNS's transfer plugin makes for one address.
var ofAddress = regexp.MustCompile(`(?s)^notify for zone ".*?" was not accepted by "([^"]+)"(?:: (.*))?$`)

// takenApart returns what the error of a Notify says of each address: the transfer plugin
// joins them.
func takenApart(err error) (all []notTaken) {
	if err == nil {
		return nil
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range joined.Unwrap() {
			all = append(all, takenApart(e)...)
		}
		return all
	}
	f := notTaken{to: unnamed, why: err.Error()}
	if m := ofAddress.FindStringSubmatch(f.why); m != nil {
		f.to, f.why = m[1], m[2]
		f.answer = strings.HasPrefix(f.why, "rcode was ")
	}
	// One entry of the log is one line.
	f.why = cmp.Or(strings.Join(strings.Fields(f.why), " "), "no reason is known")
	return []notTaken{f}
}
