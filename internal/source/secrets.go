package source

import (
	"context"
	"strings"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// version is a resourceVersion.
type version string

// secretHead is all that is taken in of a Secret that is watched as metadata only.
type secretHead struct {
	version
	labels map[string]string
}

// secretStore is the Secrets of a cluster at an API server, as a collection into
// which a watch puts their heads. Only those that are needed are asked for by name, and
// held for as long as they are: with headers of checks, where they have the label and a
// policy, a DNSRecord or a probe refers to them (rule 4.10), and as DNS providers, where a
// policy refers to them or selects them.
//
// It is guarded by its run's mu.
type secretStore struct {
	objects[api.Secret]                                  // what was fetched
	heads               map[string]map[string]secretHead // by namespace, then by namespace/name
	needs               needs
	wanted              map[string]*wantedSecret
	before              *api.Cluster // whose references needs counts
	// fetch begins to fetch a Secret until its state says that it rests.
	fetch func(name string, w *wantedSecret)
}

// wantedSecret is a Secret that is needed.
type wantedSecret struct {
	// asked is the version that was announced when the Secret was last fetched,
	// got the one that came. A watch may be behind what is fetched, and announce
	// versions that are none of both: each is a reason to fetch once more.
	asked, got version
	settled    bool    // it was fetched once, or that is refused for good
	busy       bool    // it is being fetched
	failed     trouble // of the last attempt
	stop       context.CancelFunc
}

func newSecretStore() *secretStore {
	return &secretStore{
		heads:  make(map[string]map[string]secretHead),
		needs:  newNeeds(),
		wanted: make(map[string]*wantedSecret),
		before: new(api.Cluster),
	}
}

// put implements collection. The value is a secretHead.
func (s *secretStore) put(name string, value any) {
	ns := namespaceOf(name)
	if s.heads[ns] == nil {
		s.heads[ns] = make(map[string]secretHead)
	}
	s.heads[ns][name] = value.(secretHead)
	s.settle(name)
}

// remove implements collection.
func (s *secretStore) remove(name string) {
	s.forget(name)
	s.report(name)
}

// forget takes a head away.
func (s *secretStore) forget(name string) {
	ns := namespaceOf(name)
	if delete(s.heads[ns], name); len(s.heads[ns]) == 0 {
		delete(s.heads, ns)
	}
	s.settle(name)
}

// replace implements collection. The values are heads.
func (s *secretStore) replace(prefix string, fresh map[string]any) {
	for ns, heads := range s.heads {
		for name := range heads {
			if _, ok := fresh[name]; !ok && strings.HasPrefix(ns+"/", prefix) {
				s.forget(name)
			}
		}
	}
	for name, v := range fresh {
		s.put(name, v)
	}
}

// publish implements collection. References are those of c's other objects.
func (s *secretStore) publish(kind api.Kind, c *api.Cluster) {
	for _, ref := range c.Changed {
		for _, name := range s.needs.change(referencesOf(s.before, ref), referencesOf(c, ref)) {
			s.settle(name)
		}
	}
	for _, ns := range s.needs.renewed() {
		for name := range s.heads[ns] {
			s.settle(name)
		}
	}
	s.before = c
	s.objects.publish(kind, c)
}

// settle fetches or drops a Secret, whichever is due. That one is dropped says nothing of
// its deletion: what refers to it may be missing from a list.
func (s *secretStore) settle(name string) {
	head, there := s.heads[namespaceOf(name)][name]
	w := s.wanted[name]
	if !there || !s.needs.need(name, head.labels) {
		if w != nil {
			delete(s.wanted, name)
			w.stop()
		}
		s.infer(name)
		return
	}
	if w == nil {
		w = &wantedSecret{stop: func() {}}
		s.wanted[name] = w
	}
	if !w.busy && w.due(head.version) {
		w.busy = true
		s.fetch(name, w)
	}
}

// due reports whether the Secret is to be fetched, of which the given version was
// announced.
func (w *wantedSecret) due(announced version) bool {
	return !w.settled || announced != w.asked && announced != w.got
}

// next returns the version of a Secret that is to be fetched; ok is false, and
// fetching has come to its end, where there is none.
func (s *secretStore) next(name string, w *wantedSecret) (announced version, ok bool) {
	if s.wanted[name] != w {
		return "", false
	}
	announced = s.heads[namespaceOf(name)][name].version
	w.busy = w.due(announced)
	return announced, w.busy
}

// fetched takes in the answer about a Secret that was asked for when the given
// version was announced. A nil value says that there is no such Secret.
func (s *secretStore) fetched(name string, w *wantedSecret, announced, got version, value *api.Secret) {
	if s.wanted[name] != w {
		return // nobody wants it any more
	}
	w.asked, w.got, w.settled = announced, got, true
	if value == nil {
		s.infer(name) // where it was deleted, the watch reports it
	} else {
		s.objects.put(name, value)
	}
}

// ready reports whether all Secrets under names that start with prefix have been
// fetched that are to be.
func (s *secretStore) ready(prefix string) bool {
	for name, w := range s.wanted {
		if !w.settled && strings.HasPrefix(name, prefix) {
			return false
		}
	}
	return true
}

// failing reports whether a Secret could not be fetched when that was last tried, besides the given one.
func (s *secretStore) failing(besides *wantedSecret) bool {
	for _, w := range s.wanted {
		if w != besides && w.failed != none {
			return true
		}
	}
	return false
}

// prefixOf returns what the names in a namespace begin with; "" is all of them.
func prefixOf(namespace string) string {
	if namespace == "" {
		return ""
	}
	return namespace + "/"
}

// namespaceOf returns the namespace of a namespace/name.
func namespaceOf(name string) string {
	ns, _, _ := strings.Cut(name, "/")
	return ns
}
