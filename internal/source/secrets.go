package source

import (
	"context"
	"strings"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// version is a resourceVersion.
type version string

// secretHead is what the store keeps of a Secret whose metadata it watches.
type secretHead struct {
	version
	labels map[string]string
}

// secretStore is a collection of a cluster's Secrets. A watch puts their heads into it. It fetches
// only needed ones, by name, and keeps them while needed: for headers of checks, if they have the
// label and a policy, a DNSRecord or a probe refers to them (rule 4.10); and as DNS providers, if a
// policy refers to them or selects them.
//
// It is guarded by its run's mu.
type secretStore struct {
	objects[api.Secret]                                  // the fetched Secrets
	heads               map[string]map[string]secretHead // by namespace, then by namespace/name
	needs               needs
	wanted              map[string]*wantedSecret
	before              *api.Cluster // the cluster whose references needs counts
	// fetch starts to fetch a Secret, until next says that nothing is due.
	fetch func(name string, w *wantedSecret)
}

// wantedSecret is a Secret that is needed.
type wantedSecret struct {
	// asked is the version announced at the last fetch, got the one that arrived. A watch may lag
	// behind fetches, and announce versions that are neither: each is a reason to fetch again.
	asked, got version
	settled    bool    // it was fetched once, or refused for good
	busy       bool    // a fetch is running
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

// forget removes a head.
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

// publish implements collection. It takes the references from c's other objects.
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

// settle fetches or drops a Secret, as needed. A dropped Secret was not necessarily deleted: the
// object that refers to it may be missing from a list.
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

// due reports whether to fetch the Secret, given the announced version.
func (w *wantedSecret) due(announced version) bool {
	return !w.settled || announced != w.asked && announced != w.got
}

// next returns the version of a Secret to fetch; if there is none, ok is false and the fetch ends.
func (s *secretStore) next(name string, w *wantedSecret) (announced version, ok bool) {
	if s.wanted[name] != w {
		return "", false
	}
	announced = s.heads[namespaceOf(name)][name].version
	w.busy = w.due(announced)
	return announced, w.busy
}

// fetched stores the answer about a Secret whose given version was announced. A nil value means
// that there is no such Secret.
func (s *secretStore) fetched(name string, w *wantedSecret, announced, got version, value *api.Secret) {
	if s.wanted[name] != w {
		return // no longer needed
	}
	w.asked, w.got, w.settled = announced, got, true
	if value == nil {
		s.infer(name) // if it was deleted, the watch reports that
	} else {
		s.objects.put(name, value)
	}
}

// ready reports whether all needed Secrets whose names start with prefix have been fetched.
func (s *secretStore) ready(prefix string) bool {
	for name, w := range s.wanted {
		if !w.settled && strings.HasPrefix(name, prefix) {
			return false
		}
	}
	return true
}

// failing reports whether the last fetch of any other Secret failed.
func (s *secretStore) failing(besides *wantedSecret) bool {
	for _, w := range s.wanted {
		if w != besides && w.failed != none {
			return true
		}
	}
	return false
}

// prefixOf returns the prefix of names in a namespace; "" is all of them.
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
