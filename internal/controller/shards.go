package controller

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/internal/rewatch"
	"github.com/coredns-kuadrant/kuadrant/internal/tree"
)

const (
	// maxVolume is the size in bytes up to which a ConfigMap takes new lines: small enough to be
	// written for one line. Present lines may grow, up to mostVolume: less than the 1 MiB that an API
	// server takes in one ConfigMap.
	maxVolume  = 256 << 10
	mostVolume = 900 << 10
	// maxShards bounds the ConfigMaps of one set: half a million names.
	maxShards = 400
)

// sharded keeps values of one sort, by name, in as many ConfigMaps as they need. Its registry's mu
// guards it.
type sharded[T comparable] struct {
	field  string // of the ConfigMaps' data
	prefix string // of their names; a hyphen and a number follow
	bare   bool   // the first one has no number
	write  func(string, T) string
	read   func(line string) (string, T, error)
	// same reports whether two values are of one object: another object's value replaces a kept one
	// only if that may go. nil if it always may.
	same func(a, b T) bool

	shards map[string]*shard[T] // by the ConfigMap's name
	values tree.Map[T]          // of all: for one name in two ConfigMaps, the first one's
}

// shard is one ConfigMap.
type shard[T comparable] struct {
	uid, version string
	values       map[string]T
	size         int
}

// copied returns a copy of the set of ConfigMaps, for planning.
func (s *sharded[T]) copied() *sharded[T] {
	next := *s
	next.shards = maps.Clone(s.shards)
	return &next
}

// parse reads the lines of one ConfigMap, and returns the fault of the first unreadable one; "" for
// none.
func (s *sharded[T]) parse(text string) (v *shard[T], fault string) {
	v = &shard[T]{values: make(map[string]T), size: len(text)}
	n := 0
	for line := range strings.Lines(text) {
		if n++; strings.TrimSpace(line) == "" {
			continue
		}
		key, value, err := s.read(line)
		if err != nil {
			if fault == "" {
				fault = "line " + strconv.Itoa(n) + ": " + err.Error()
			}
			continue
		}
		if key != "" {
			v.values[key] = value
		}
	}
	return v, fault
}

// text returns the lines of one ConfigMap.
func (s *sharded[T]) text(values map[string]T) string {
	var b strings.Builder
	for _, key := range slices.Sorted(maps.Keys(values)) {
		b.WriteString(s.write(key, values[key]) + "\n")
	}
	return b.String()
}

// take is put for a ConfigMap, unless a newer one is known; fault is its unreadable line's.
func (s *sharded[T]) take(m *corev1.ConfigMap, listed bool) (changed []string, fault string) {
	if old := s.shards[m.Name]; !listed && old != nil && old.uid == string(m.UID) && rewatch.Older(m.ResourceVersion, old.version) {
		return nil, ""
	}
	v, fault := s.parse(m.Data[s.field])
	v.uid, v.version = string(m.UID), m.ResourceVersion
	return s.put(m.Name, v), fault
}

// put takes in a ConfigMap, nil if it is gone, and returns the names whose kept values have
// changed.
func (s *sharded[T]) put(name string, v *shard[T]) (changed []string) {
	concerned := make(map[string]struct{})
	for _, o := range []*shard[T]{s.shards[name], v} {
		if o != nil {
			for key := range o.values {
				concerned[key] = struct{}{}
			}
		}
	}
	if v == nil {
		delete(s.shards, name)
	} else {
		s.shards[name] = v
	}
	edit, names := s.values.Edit(), s.names()
	for key := range concerned {
		was, had := edit.Get(key)
		is, has := s.find(names, key)
		switch {
		case !has:
			edit.Delete(key)
		case !had || was != is:
			edit.Set(key, is)
		}
		if had != has || was != is {
			changed = append(changed, key)
		}
	}
	s.values = edit.Map()
	slices.Sort(changed)
	return changed
}

// find returns the kept value of a name, from the first ConfigMap that has it.
func (s *sharded[T]) find(names []string, key string) (value T, ok bool) {
	for _, name := range names {
		if value, ok = s.shards[name].values[key]; ok {
			return value, true
		}
	}
	return value, false
}

// names returns the names of the ConfigMaps in order of their numbers.
func (s *sharded[T]) names() []string {
	all := slices.Collect(maps.Keys(s.shards))
	slices.SortFunc(all, func(a, b string) int {
		x, _ := s.number(a)
		y, _ := s.number(b)
		return x - y
	})
	return all
}

// inTurns sorts the keys of new lines: zones first, as a Zone without a line is refused if there are lines for names in it (rule 6.5), then
// names that somebody else wants, then the rest. Among these, namespaces take turns: none fills the ConfigMaps before the others.
func inTurns(keys []string, wanted map[string]api.Owner, contested func(key string) bool) {
	type place struct{ class, turn int }
	type queue struct {
		class     int
		namespace string
	}
	slices.Sort(keys)
	places, lengths := make(map[string]place, len(keys)), make(map[queue]int)
	for _, key := range keys {
		q := queue{2, wanted[key].Namespace()}
		if _, zone := api.OfZoneKey(key); zone {
			q.class = 0
		} else if contested(key) {
			q.class = 1
		}
		places[key] = place{q.class, lengths[q]}
		lengths[q]++
	}
	slices.SortStableFunc(keys, func(a, b string) int {
		return cmp.Or(places[a].class-places[b].class, places[a].turn-places[b].turn)
	})
}

// draft is a ConfigMap as it should be.
type draft[T comparable] struct {
	name   string
	old    *shard[T] // nil for a new one
	values map[string]T
}

// plan returns the ConfigMaps to write so that they hold the wanted values, and how many names find
// no room. sort sorts the names that have no value yet: the first ones find room first. drop reports whether an unwanted value may go.
func (s *sharded[T]) plan(wanted map[string]T, sort func(missing []string), drop func(key string, value T) bool) (drafts []draft[T], left int) {
	p := &plan[T]{
		s: s, wanted: wanted, names: s.names(), sizes: make(map[string]int),
		edits: make(map[string]*draft[T]), have: make(map[string]struct{}, len(wanted)),
	}
	p.keep(drop)
	left = p.add(sort)
	for _, name := range p.names {
		if d := p.edits[name]; d != nil {
			drafts = append(drafts, *d)
		}
	}
	return drafts, left
}

// plan is a new layout of the ConfigMaps of a set.
type plan[T comparable] struct {
	s      *sharded[T]
	wanted map[string]T
	names  []string // of ConfigMaps; new ones come last
	sizes  map[string]int
	edits  map[string]*draft[T]
	have   map[string]struct{} // the present keys
}

// edit returns the draft of a ConfigMap.
func (p *plan[T]) edit(name string) *draft[T] {
	if d := p.edits[name]; d != nil {
		return d
	}
	d := &draft[T]{name: name, old: p.s.shards[name], values: make(map[string]T)}
	if d.old != nil {
		maps.Copy(d.values, d.old.values)
	}
	p.edits[name] = d
	return d
}

// keep goes through the present values: each stays, is replaced, or goes.
func (p *plan[T]) keep(drop func(key string, value T) bool) {
	s := p.s
	for _, name := range p.names {
		p.sizes[name] = s.shards[name].size
		for key, value := range s.shards[name].values {
			want, ok := p.wanted[key]
			_, twice := p.have[key]
			same := s.same == nil || s.same(value, want)
			other := ok && want != value && (same || drop(key, value))
			grown := len(s.write(key, want)) - len(s.write(key, value))
			fits := p.sizes[name]+grown <= mostVolume
			switch {
			case twice, !ok && drop(key, value), other && !fits && !same:
				delete(p.edit(name).values, key)
				p.sizes[name] -= len(s.write(key, value)) + 1
				continue
			case other && fits: // else it stays as it is
				p.edit(name).values[key] = want
				p.sizes[name] += grown
			}
			p.have[key] = struct{}{}
		}
	}
}

// add finds room for new values, and returns how many find none.
func (p *plan[T]) add(sort func(missing []string)) (left int) {
	at, next := 0, 0
	if len(p.names) > 0 {
		last, _ := p.s.number(p.names[len(p.names)-1])
		next = last + 1
	}
	var missing []string
	for key := range p.wanted {
		if _, ok := p.have[key]; !ok {
			missing = append(missing, key)
		}
	}
	sort(missing)
	for _, key := range missing {
		line := p.s.write(key, p.wanted[key])
		if line == "" {
			left++
			continue
		}
		for at < len(p.names) && p.sizes[p.names[at]]+len(line)+1 > maxVolume {
			at++
		}
		if at == len(p.names) {
			if at == maxShards {
				left++
				continue
			}
			p.names = append(p.names, p.s.name(next))
			next++
		}
		p.edit(p.names[at]).values[key] = p.wanted[key]
		p.sizes[p.names[at]] += len(line) + 1
	}
	return left
}

// name returns the name of the n-th ConfigMap.
func (s *sharded[T]) name(n int) string {
	if n == 0 && s.bare {
		return s.prefix
	}
	return s.prefix + "-" + strconv.Itoa(n)
}

// number returns the number of a ConfigMap; ok is false if it is another set's.
func (s *sharded[T]) number(name string) (n int, ok bool) {
	if s.bare && name == s.prefix {
		return 0, true
	}
	rest, _ := strings.CutPrefix(name, s.prefix+"-")
	n, err := strconv.Atoi(rest)
	return n, err == nil && name == s.name(n)
}
