package api

import (
	"bytes"
	"cmp"
	"fmt"
	"iter"
	"maps"
	"net/netip"
	"slices"
	"strings"
)

// Override is one line of an operator's override file (rule 4.5): a word for all members of a
// cluster, for those of a Gateway, or for one target.
type Override struct {
	// Cluster is the name of a cluster. On a Gateway's line, "" means all clusters.
	Cluster string
	// Gateway is "namespace/name"; "" if the line has none.
	Gateway string
	// Target is an IP address in its usual form, or a host name in lower case without a final dot;
	// "" if the line has none.
	Target string
	// State is up, down or drain; for a target, up or down.
	State string
	// Line is its line number, from 1.
	Line int
}

// subject is what an override applies to.
type subject struct{ cluster, gateway, target string }

func (o *Override) subject() subject { return subject{o.Cluster, o.Gateway, o.Target} }

// String returns the line in its usual form.
func (o *Override) String() string {
	switch {
	case o.Target != "":
		return "target " + o.Target + " " + o.State
	case o.Gateway != "" && o.Cluster != "":
		return "gateway " + o.Cluster + "/" + o.Gateway + " " + o.State
	case o.Gateway != "":
		return "gateway " + o.Gateway + " " + o.State
	}
	return "cluster " + o.Cluster + " " + o.State
}

// Overrides is the content of an override file. It is read-only; nil is an empty one.
type Overrides struct {
	all     map[subject]Override
	targets bool // one is on a target
}

// ParseOverrides parses lines of a subject and a word, with comments from # on:
//
//	cluster b down
//	gateway shop/prod drain
//	gateway b/shop/prod up
//	target 192.0.2.1 down
//
// A Gateway may be named with its cluster. name is that of the file. The error
// names it with the line, and says what to write.
func ParseOverrides(name string, data []byte) (*Overrides, error) {
	all, targets := make(map[subject]Override), false
	line := 0
	for text := range bytes.Lines(data) {
		line++
		text, _, _ = bytes.Cut(text, []byte("#"))
		fields := strings.Fields(string(text))
		if len(fields) == 0 {
			continue
		}
		o, err := parseOverride(fields)
		if err == nil {
			o.Line = line
			if first, twice := all[o.subject()]; twice && first.State != o.State {
				err = fmt.Errorf("line %d says %q for the same; remove one", first.Line, first.State)
			}
		}
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, line, err)
		}
		all[o.subject()] = o
		targets = targets || o.Target != ""
	}
	return &Overrides{all, targets}, nil
}

func parseOverride(fields []string) (Override, error) {
	const want = `"cluster NAME up|down|drain", "gateway [CLUSTER/]NAMESPACE/NAME up|down|drain" or "target ADDRESS up|down"`
	if len(fields) != 3 {
		return Override{}, fmt.Errorf("%s: write %s", quote(strings.Join(fields, " ")), want)
	}
	o := Override{State: fields[2]}
	words := []string{"up", "down", "drain"}
	switch name := fields[1]; fields[0] {
	case "cluster":
		o.Cluster = name
	case "gateway":
		parts := strings.Split(name, "/")
		if len(parts) < 2 || len(parts) > 3 || slices.Contains(parts, "") {
			return o, fmt.Errorf("%s is not a Gateway; write NAMESPACE/NAME or CLUSTER/NAMESPACE/NAME", quote(name))
		}
		o.Gateway = strings.Join(parts[len(parts)-2:], "/")
		if len(parts) == 3 {
			o.Cluster = parts[0]
		}
	case "target":
		words = words[:2] // draining takes away a member's weight
		if o.Target = targetName(name); o.Target == "" {
			return o, fmt.Errorf("%s is not a target; write an IP address such as 192.0.2.1, or a hostname such as lb.example.com", quote(name))
		}
	default:
		return o, fmt.Errorf("%s: write %s", quote(strings.Join(fields, " ")), want)
	}
	if !slices.Contains(words, o.State) {
		return o, fmt.Errorf("%s: write %s", quote(o.State), enumerated(words, "or"))
	}
	return o, nil
}

// targetName returns an address or a host name in the form of Override.Target, ""
// where text is neither.
func targetName(text string) string {
	if a, err := netip.ParseAddr(text); err == nil && a.Zone() == "" {
		return a.Unmap().String()
	}
	if host := strings.ToLower(strings.TrimSuffix(text, ".")); isHostname(host) {
		return host
	}
	return ""
}

// Gateway returns the word for a Gateway's members, "" for none: a line on the Gateway in its
// cluster overrides one on the Gateway in any cluster, and both override one on the cluster.
func (o *Overrides) Gateway(cluster, gateway string) string {
	all := o.lines()
	return cmp.Or(all[subject{cluster, gateway, ""}].State, all[subject{"", gateway, ""}].State, all[subject{cluster, "", ""}].State)
}

// Target returns the word for a target, "" for none. target is in the form of Override.Target.
func (o *Overrides) Target(target string) string { return o.lines()[subject{"", "", target}].State }

// Targets reports whether any line is for a target.
func (o *Overrides) Targets() bool { return o != nil && o.targets }

// Any reports whether there are overrides.
func (o *Overrides) Any() bool { return len(o.lines()) > 0 }

// All yields the overrides in the order of their lines.
func (o *Overrides) All() iter.Seq[Override] {
	return slices.Values(slices.SortedFunc(maps.Values(o.lines()), func(a, b Override) int { return cmp.Compare(a.Line, b.Line) }))
}

// Changed yields, in no order, the overrides that only one of o and before has, or whose word
// differs. It costs nothing if the content is the same.
func (o *Overrides) Changed(before *Overrides) iter.Seq[Override] {
	return func(yield func(Override) bool) {
		if o == before {
			return
		}
		for about, line := range before.lines() {
			if _, still := o.lines()[about]; !still && !yield(line) {
				return
			}
		}
		for about, line := range o.lines() {
			if before.lines()[about].State != line.State && !yield(line) {
				return
			}
		}
	}
}

// lines returns the overrides by subject, read-only.
func (o *Overrides) lines() map[subject]Override {
	if o == nil {
		return nil
	}
	return o.all
}
