package pool

import (
	"fmt"
	"slices"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
)

// code returns the geo code; "" for none, and for the default.
func (f *owned) code() string {
	if f.Geo == endpoint.AnyGeo {
		return ""
	}
	return f.Geo
}

// fold returns the endpoints at a name that count, each once: the oldest of those with the same set
// identifier and type, and the first of CNAMEs that nothing distinguishes (rule 1.7). Addresses
// without a set identifier form RRsets together.
func (b *Builder) fold(name string, list []owned) []owned {
	if len(list) == 1 {
		return list // almost always
	}
	type rival struct {
		owned
		of int // index of the older one in kept
	}
	var defaults []rival
	first := &b.first
	first.again()
	var at []int // index of the first of each in kept
	kept := list[:0]
	for _, f := range list {
		if f.SetID == "" && f.Type != dns.TypeCNAME {
			kept = append(kept, f)
			continue
		}
		key := distinction{setID: f.SetID, rtype: f.Type}
		if f.SetID == "" && f.Chosen() {
			key.code, key.target = f.Geo, f.Target
		}
		number, taken := first.of(key)
		if !taken {
			at, kept = append(at, len(kept)), append(kept, f)
			continue
		}
		switch i := at[number]; {
		case f.Geo == endpoint.AnyGeo && kept[i].Geo == endpoint.AnyGeo && f.Target != kept[i].Target:
			defaults = append(defaults, rival{f, i})
		default:
			b.yield(name, f, &kept[i])
		}
	}
	if len(defaults) == 0 {
		return kept // almost always
	}
	for _, f := range defaults {
		f.other = true // the older one is the default (rule 5.6)
		older := slices.IndexFunc(kept, func(o owned) bool { return o.Target == f.Target && (o.other || o.code() != "") })
		switch {
		case older >= 0 && kept[older].other:
			b.yield(name, f.owned, &kept[older])
		case older >= 0: // others lead there for a code
			b.yield(name, f.owned, &kept[f.of])
		default:
			kept = append(kept, f.owned)
		}
	}
	return kept
}

// yield makes f give way to an older endpoint at the same name, o. If both lead to one hostname, only the rest of f, such as its weight, is
// lost; its Gateway still counts.
func (b *Builder) yield(name string, f owned, o *owned) {
	beside := f.Target == o.Target && len(f.Addrs)+len(o.Addrs) == 0 && f.Geo == o.Geo
	conflict := "%s: the set identifier %q belongs to %s %s"
	if f.Priority() != o.Priority() {
		conflict += fmt.Sprintf(", where its priority is %d", o.Priority())
	}
	switch owner := endpoint.InCluster(o.contender.By, f.contender.By); {
	case f.SetID != "" && !f.Same(o.Endpoint) && beside:
		b.note(f.contender, endpoint.ReasonConflicted, conflict, endpoint.TrimDot(name), f.SetID, o.contender.Kind, owner)
	case f.SetID != "" && !f.Same(o.Endpoint):
		b.drop(&f, endpoint.ReasonConflicted, conflict, endpoint.TrimDot(name), f.SetID, o.contender.Kind, owner)
	case f.Target != o.Target:
		b.drop(&f, endpoint.ReasonDropped, "%s: a name can have only one CNAME: serving %s; dropping %s",
			endpoint.TrimDot(name), endpoint.TrimDot(o.Target), endpoint.TrimDot(f.Target))
	}
	if f.contender != o.contender && (beside || f.Same(o.Endpoint)) {
		o.also = append(o.also, f.contender)
	}
}
