package controller

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// object is an object's state at the API server, as far as writing needs it. It never changes,
// except for the Writer's own notes.
type object struct {
	apiVersion, uid, version string
	generation               int64
	deleting                 bool
	// parent is the value of the label kubi.zone/parent-zone; "" for none.
	parent string
	// owner is the policy, or for a probe the DNSRecord, that controls one of our own objects; no
	// name for other objects.
	owner    api.Ref
	ownerUID string
	// spec is the digest of a child's content; "" for other objects.
	spec   string
	labels map[string]string // of a child
	// other is another controller's field manager that writes its status; "" for none.
	other string
	// status is the result of form.read; nil for none.
	status any
	// settled is the digest of the last write if nothing has changed since: any difference then
	// comes from how the API server stores it.
	settled string
}

// child reports whether it is one of our own objects.
func (o *object) child() bool { return o.owner.Name != "" }

// equals reports whether two objects are the same in the same state. The version alone is not
// enough: a restored server gives old versions to new states.
func (o *object) equals(p *object) bool {
	return o.uid == p.uid && o.version == p.version && o.generation == p.generation && o.parent == p.parent &&
		o.spec == p.spec && maps.Equal(o.labels, p.labels) && same(o.status, p.status)
}

// Cache has the objects of one API server. It is a source.Observer; any goroutine may call its
// methods.
type Cache struct {
	// changed is called, without a lock, with each changed object, and listed with each listed
	// kind.
	changed func(api.Ref)
	listed  func(api.Kind)

	mu       sync.Mutex
	versions [api.NumKinds]string
	kinds    [api.NumKinds]map[string]*object
	// children are our own objects, by the object that controls them.
	children map[api.Ref]map[api.Ref]struct{}
	// made are the digests of objects made since, which no watch has reported yet.
	made map[api.Ref]string
}

func (s *Cache) init() {
	s.changed, s.listed = func(api.Ref) {}, func(api.Kind) {}
	s.children, s.made = make(map[api.Ref]map[api.Ref]struct{}), make(map[api.Ref]string)
	for k := range s.kinds {
		s.kinds[k] = make(map[string]*object)
	}
}

// get returns an object, nil for none.
func (s *Cache) get(ref api.Ref) *object {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.kinds[ref.Kind][ref.Name]
}

// version returns the version in which the cluster has a kind; "" if unknown.
func (s *Cache) version(kind api.Kind) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.versions[kind]
}

// others reports whether another controller writes the status of a policy or DNSRecord.
func (s *Cache) others() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, kind := range []api.Kind{api.KindDNSPolicy, api.KindDNSRecord} {
		for _, o := range s.kinds[kind] {
			if o.other != "" {
				return true
			}
		}
	}
	return false
}

// childrenOf returns our own objects that an object controls.
func (s *Cache) childrenOf(owner api.Ref) []api.Ref {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Keys(s.children[owner]))
}

// parents returns the objects that control our own objects.
func (s *Cache) parents() []api.Ref {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Keys(s.children))
}

// set keeps an object; nil is none. s is locked.
func (s *Cache) set(ref api.Ref, o *object) {
	before := s.kinds[ref.Kind][ref.Name]
	delete(s.made, ref)
	if before != nil && before.child() {
		delete(s.children[before.owner], ref)
		if len(s.children[before.owner]) == 0 {
			delete(s.children, before.owner)
		}
	}
	if o == nil {
		delete(s.kinds[ref.Kind], ref.Name)
		return
	}
	s.kinds[ref.Kind][ref.Name] = o
	if o.child() {
		if s.children[o.owner] == nil {
			s.children[o.owner] = make(map[api.Ref]struct{})
		}
		s.children[o.owner][ref] = struct{}{}
	}
}

// make notes that an object is about to be made, until a watch reports it, or notMade undoes it. It
// returns false if that is noted already.
func (s *Cache) make(p *write) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.made[p.ref] == p.settled {
		return false
	}
	s.made[p.ref] = p.settled
	return true
}

// notMade undoes make.
func (s *Cache) notMade(ref api.Ref) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.made, ref)
}

// wrote notes that an object was written, or may not be, until the watch reports a newer one.
func (s *Cache) wrote(p *write) {
	s.edit(p.ref, p.uid, func(o *object) bool { o.settled = p.settled; return o.version == p.version })
}

// removed notes that an object was deleted, or is about to be.
func (s *Cache) removed(ref api.Ref, uid string) {
	s.edit(ref, uid, func(o *object) bool { o.deleting = true; return true })
}

// edit replaces an object by a changed copy: others may be reading it.
func (s *Cache) edit(ref api.Ref, uid string, change func(*object) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := s.kinds[ref.Kind][ref.Name]; now != nil && now.uid == uid {
		if next := *now; change(&next) {
			s.set(ref, &next)
		}
	}
}

// unsettle has all differences written again, even those stored differently or refused until now.
func (s *Cache) unsettle() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for kind := range s.kinds {
		for name, o := range s.kinds[kind] {
			if o.settled != "" {
				next := *o // others may be reading o
				next.settled = ""
				s.kinds[kind][name] = &next
			}
		}
	}
}

// unmake forgets the given made objects: a list is newer. s is locked.
func (s *Cache) unmake(of func(api.Ref) bool) {
	maps.DeleteFunc(s.made, func(ref api.Ref, _ string) bool { return of(ref) })
}

// Serves implements source.Observer.
func (s *Cache) Serves(kind api.Kind, version string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.versions[kind] = version
	if version == "" {
		s.unmake(func(ref api.Ref) bool { return ref.Kind == kind })
		for name := range s.kinds[kind] {
			s.set(api.Ref{Kind: kind, Name: name}, nil)
		}
	}
}

// Stands implements source.Observer.
func (s *Cache) Stands(kind api.Kind, name string, what any) {
	o, _ := what.(*object)
	if o == nil {
		return
	}
	ref := api.Ref{Kind: kind, Name: name}
	s.mu.Lock()
	if before := s.kinds[kind][name]; before != nil && before.equals(o) {
		o.settled = before.settled
	}
	s.set(ref, o)
	s.mu.Unlock()
	s.notify(ref, o)
}

// Gone implements source.Observer.
func (s *Cache) Gone(kind api.Kind, name string) {
	ref := api.Ref{Kind: kind, Name: name}
	s.mu.Lock()
	o := s.kinds[kind][name]
	s.set(ref, nil)
	s.mu.Unlock()
	s.notify(ref, o)
}

// Listed implements source.Observer.
func (s *Cache) Listed(kind api.Kind, namespace string, objects map[string]any) {
	if forms[kind] == nil {
		return
	}
	type changed struct {
		ref api.Ref
		o   *object
	}
	var all []changed
	in := func(name string) bool { return namespace == "" || strings.HasPrefix(name, namespace+"/") }
	s.mu.Lock()
	s.unmake(func(of api.Ref) bool { return of.Kind == kind && in(of.Name) })
	for name, o := range s.kinds[kind] {
		if _, ok := objects[name]; !ok && in(name) {
			ref := api.Ref{Kind: kind, Name: name}
			s.set(ref, nil)
			all = append(all, changed{ref, o})
		}
	}
	for name, what := range objects {
		o, _ := what.(*object)
		if o == nil {
			continue
		}
		// Whatever version was known: a restored server begins versions anew.
		ref := api.Ref{Kind: kind, Name: name}
		s.set(ref, o)
		all = append(all, changed{ref, o})
	}
	s.mu.Unlock()
	for _, c := range all {
		s.notify(c.ref, c.o)
	}
	s.listed(kind)
}

// notify reports a changed object, and the object that it stands for.
func (s *Cache) notify(ref api.Ref, o *object) {
	s.changed(ref)
	if o != nil && o.child() {
		s.changed(o.owner)
	}
}

// Read implements source.Observer.
func (s *Cache) Read(kind api.Kind, data []byte) any {
	if forms[kind] == nil {
		return nil
	}
	return readObject(kind, data)
}

// wireObject has the fields that are read of an object.
type wireObject struct {
	APIVersion string `json:"apiVersion"`
	Metadata   struct {
		Name              string                  `json:"name"`
		Namespace         string                  `json:"namespace"`
		UID               string                  `json:"uid"`
		ResourceVersion   string                  `json:"resourceVersion"`
		Generation        int64                   `json:"generation"`
		DeletionTimestamp *string                 `json:"deletionTimestamp"`
		Labels            map[string]string       `json:"labels"`
		OwnerReferences   []metav1.OwnerReference `json:"ownerReferences"`
		ManagedFields     []struct {
			Manager     string `json:"manager"`
			Subresource string `json:"subresource"`
		} `json:"managedFields"`
	} `json:"metadata"`
	Spec   json.RawMessage `json:"spec"`
	Status json.RawMessage `json:"status"`
}

// readObject reads an object of a kind that has a form; nil if it cannot be read.
func readObject(kind api.Kind, data []byte) *object {
	var w wireObject
	if err := json.Unmarshal(data, &w); err != nil || w.APIVersion == "" {
		return nil
	}
	m := &w.Metadata
	o := &object{
		apiVersion: w.APIVersion, uid: m.UID, version: m.ResourceVersion, generation: m.Generation,
		deleting: m.DeletionTimestamp != nil, parent: m.Labels[labelParentZone],
	}
	for _, f := range m.ManagedFields {
		if f.Subresource == "status" && isOther(f.Manager) {
			o.other = f.Manager
		}
	}
	if m.Labels[api.LabelManagedBy] == FieldManager {
		for _, ref := range m.OwnerReferences {
			owner, ok := ownerKind(kind, ref.Kind)
			if ok && ref.Controller != nil && *ref.Controller {
				o.owner, o.ownerUID = api.Ref{Kind: owner, Name: m.Namespace + "/" + ref.Name}, string(ref.UID)
				o.spec, o.labels = digestOf(w.Spec), m.Labels
			}
		}
	}
	if len(w.Status) == 0 {
		w.Status = json.RawMessage("{}")
	}
	o.status = forms[kind].read(w.Status)
	return o
}

// ownerKind returns the kind of an object that controls one of our own: a policy controls
// DNSRecords and probes, a DNSRecord only probes. ok is false for others.
func ownerKind(of api.Kind, name string) (kind api.Kind, ok bool) {
	switch name {
	case api.KindDNSPolicy.String():
		return api.KindDNSPolicy, of == api.KindDNSRecord || of == api.KindProbe
	case api.KindDNSRecord.String():
		return api.KindDNSRecord, of == api.KindProbe
	}
	return 0, false
}

// splitName returns the parts of a namespace/name.
func splitName(of string) (namespace, name string) {
	namespace, name, _ = strings.Cut(of, "/")
	return namespace, name
}

// labelParentZone is the label that names a Zone's or Record's Zone (rule 6.3).
const labelParentZone = "kubi.zone/parent-zone"

// isOther reports whether a field manager belongs to a controller that writes the same fields.
func isOther(manager string) bool { return slices.Contains(otherManagers, manager) }
