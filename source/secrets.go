package source

import (
	"context"
	"strings"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// version is a resourceVersion: all that is taken in of an object that is watched
// as metadata only.
type version string

// secretStore is the Secrets of a cluster at an API server, as a collection into
// which a watch puts the versions of those that have the label (rule 4.10). Only
// those that policies, DNSRecords and probes of the cluster refer to are asked for by name,
// and held for as long as both lasts.
//
// It is guarded by its run's mu.
type secretStore struct {
	objects[api.HeaderSecret] // what was fetched
	versions                  map[string]version
	users                     map[string]int // how many objects refer to a Secret that may be there
	wanted                    map[string]*wantedSecret
	before                    *api.Cluster // whose references users counts
	// fetch begins to fetch a Secret until its state says that it rests.
	fetch func(name string, w *wantedSecret)
}

// wantedSecret is a Secret that has the label and is referred to.
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
		objects:  *kinds[api.KindSecret].collect().(*objects[api.HeaderSecret]),
		versions: make(map[string]version),
		users:    make(map[string]int),
		wanted:   make(map[string]*wantedSecret),
		before:   new(api.Cluster),
	}
}

// put implements collection. The value is a version.
func (s *secretStore) put(name string, value any) {
	s.versions[name] = value.(version)
	s.settle(name)
}

// remove implements collection: the Secret has gone, or has lost the label.
func (s *secretStore) remove(name string) {
	delete(s.versions, name)
	s.settle(name)
}

// replace implements collection. The values are versions.
func (s *secretStore) replace(prefix string, fresh map[string]any) {
	for name := range s.versions {
		if _, ok := fresh[name]; !ok && strings.HasPrefix(name, prefix) {
			s.remove(name)
		}
	}
	for name, v := range fresh {
		s.put(name, v)
	}
}

// publish implements collection. References are those of c's other objects.
func (s *secretStore) publish(kind api.Kind, c *api.Cluster) {
	for _, ref := range c.Changed {
		was, is := reference(s.before, ref), reference(c, ref)
		if was == is {
			continue
		}
		if is != "" {
			s.users[is]++
			s.settle(is)
		}
		if was != "" {
			if s.users[was]--; s.users[was] == 0 {
				delete(s.users, was)
			}
			s.settle(was)
		}
	}
	s.before = c
	s.objects.publish(kind, c)
}

// reference returns the name of the Secret that an object of c refers to, "" for
// none. It is in the object's own namespace.
func reference(c *api.Cluster, ref api.Ref) string {
	secret := ""
	switch ref.Kind {
	case api.KindDNSPolicy:
		if p, ok := c.Policies.Get(ref.Name); ok && p.HealthCheck != nil {
			secret = p.HealthCheck.HeadersSecret
		}
	case api.KindDNSRecord:
		if r, ok := c.DNSRecords.Get(ref.Name); ok && r.HealthCheck != nil {
			secret = r.HealthCheck.HeadersSecret
		}
	case api.KindProbe:
		if p, ok := c.Probes.Get(ref.Name); ok {
			secret = p.Check.HeadersSecret
		}
	}
	if secret == "" {
		return ""
	}
	ns, _, _ := strings.Cut(ref.Name, "/")
	return ns + "/" + secret
}

// settle fetches or drops a Secret, whichever is due.
func (s *secretStore) settle(name string) {
	announced, labelled := s.versions[name]
	w := s.wanted[name]
	if !labelled || s.users[name] == 0 {
		if w != nil {
			delete(s.wanted, name)
			w.stop()
		}
		s.objects.remove(name)
		return
	}
	if w == nil {
		w = &wantedSecret{stop: func() {}}
		s.wanted[name] = w
	}
	if !w.busy && w.due(announced) {
		w.busy = true
		s.fetch(name, w)
	}
}

// due tells whether the Secret is to be fetched, of which the given version was
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
	announced = s.versions[name]
	w.busy = w.due(announced)
	return announced, w.busy
}

// fetched takes in the answer about a Secret that was asked for when the given
// version was announced. A nil value says that there is no such Secret, or that
// it is not for us.
func (s *secretStore) fetched(name string, w *wantedSecret, announced, got version, value *api.HeaderSecret) {
	if s.wanted[name] != w {
		return // nobody wants it any more
	}
	w.asked, w.got, w.settled = announced, got, true
	if value == nil {
		s.objects.remove(name)
	} else {
		s.objects.put(name, value)
	}
}

// ready tells whether all Secrets under names that start with prefix have been
// fetched that are to be.
func (s *secretStore) ready(prefix string) bool {
	for name, w := range s.wanted {
		if !w.settled && strings.HasPrefix(name, prefix) {
			return false
		}
	}
	return true
}

// failing tells whether a Secret under a name that starts with prefix could not
// be fetched when that was last tried, besides the given one.
func (s *secretStore) failing(prefix string, besides *wantedSecret) bool {
	for name, w := range s.wanted {
		if w != besides && w.failed != none && strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}
