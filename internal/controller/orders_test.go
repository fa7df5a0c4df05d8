package controller

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// world is an API server with its watches, what a source has read of it, and a Writer, all of which
// get on as the test says.
type world struct {
	t      *testing.T
	r      *rand.Rand
	w      *Writer
	says   *replica
	uids   int
	now    contents
	before []contents // states that etcd may be set back to
	writes int
	// setBack is true where etcd was set back: the watches tell of that once they have been listed.
	setBack bool
	// watched are the events that have not been told yet, by kind.
	watched [api.NumKinds][]event
	store   map[api.Ref]any // what the source has read
	told    map[api.Ref]any // what of that the last compile saw
}

type contents struct {
	version int
	objects map[api.Ref]map[string]any
}

// event is one object, nil for one that has gone, or a list.
type event struct {
	ref    api.Ref
	object []byte
	list   map[string][]byte
}

// TestAnyOrder: users, watches, compiles, answers and looks come in any order, answers are lost, the
// Lease is lost and won, finalizers hold what is deleted, and etcd is set back to older states. At the end everything stands as it
// should, and nothing more is written.
func TestAnyOrder(t *testing.T) {
	for seed := range uint64(100) {
		m := &world{t: t, r: rand.New(rand.NewPCG(seed, 7)), now: contents{1, map[api.Ref]map[string]any{}}, store: map[api.Ref]any{}}
		srv := httptest.NewServer(m)
		m.w, _ = unreachable(t, func(o *Options) { o.Config, o.QPS, o.Burst = &rest.Config{Host: srv.URL}, 1e6, 1e6 })
		m.w.timing.lease, m.w.timing.renew, m.w.timing.backoff, m.w.timing.most = time.Hour, time.Hour, 1, time.Millisecond
		begun := time.Now()
		m.w.lease.renewed.Store(&begun)
		at := time.Unix(0, 0)
		m.w.now = func() time.Time { at = at.Add(samePeriod); return at } // nobody undoes anything
		m.says = &replica{verdict: func(p *api.DNSPolicy) *api.Verdict { return accepted(p.UID + fmt.Sprint(p.Generation)) }}
		m.w.cache.Serves(api.KindDNSPolicy, "v1")
		m.w.cache.Serves(api.KindDNSRecord, "v1alpha1")
		m.w.work = newWork(m.w, m.w.look)
		for range 300 {
			m.step()
		}
		until(t, fmt.Sprintf("rest, seed %d", seed), func() bool { m.settle(); return m.wrong() == "" || m.t.Failed() })
		wrote := m.writes
		m.w.lookAtAll(m.w.work)
		if m.settle(); m.writes != wrote {
			t.Errorf("seed %d: at rest, %d more writes", seed, m.writes-wrote)
		}
		m.w.work.queue.ShutDown()
		srv.Close()
	}
}

func (m *world) step() {
	policy := api.Ref{Kind: api.KindDNSPolicy, Name: "ns/" + string("ab"[m.r.IntN(2)])}
	child := api.Ref{Kind: api.KindDNSRecord, Name: "ns/gw-" + string("abx"[m.r.IntN(3)])}
	o := m.now.objects[policy]
	switch n := m.r.IntN(60); {
	case n < 4 && o == nil:
		m.put(policy, map[string]any{"spec": map[string]any{"targetRef": map[string]any{
			"group": "gateway.networking.k8s.io",
			"kind":  "Gateway", "name": "gw",
		}}})
	case n < 4:
		next := maps.Clone(o)
		next["metadata"] = maps.Clone(o["metadata"].(map[string]any))
		next["metadata"].(map[string]any)["generation"] = generationOf(o) + 1
		m.put(policy, next)
	case n < 6:
		m.put(policy, nil)
	case n < 7:
		m.put(child, nil)
	case n < 8 && m.now.objects[child] != nil: // another writer undoes what was written
		next := maps.Clone(m.now.objects[child])
		next["spec"] = map[string]any{"rootHost": "b.example.com"}
		m.put(child, next)
	case n == 8:
		m.before = append(m.before, contents{m.now.version, maps.Clone(m.now.objects)})
	case n == 9 && len(m.before) > 0:
		m.now, m.setBack = m.before[m.r.IntN(len(m.before))], true
		m.now.objects = maps.Clone(m.now.objects)
		for _, kind := range [...]api.Kind{api.KindDNSPolicy, api.KindDNSRecord} {
			all := make(map[string][]byte)
			for ref, o := range m.now.objects {
				if ref.Kind == kind {
					all[ref.Name] = encoded(o)
				}
			}
			m.watched[kind] = []event{{ref: api.Ref{Kind: kind}, list: all}}
		}
	case n == 11:
		m.finalize()
	case n == 10: // the Lease is lost, and won
		m.w.work.queue.ShutDown()
		m.w.work = newWork(m.w, m.w.look)
		m.w.cache.unsettle()
		m.w.lookAtAll(m.w.work)
	case n < 30:
		m.watch()
	case n < 40:
		m.compile()
	default:
		m.look()
	}
}

// settle lets all that there is to be told, said and looked at come, once no user does anything.
func (m *world) settle() {
	for m.watch() || m.compile() || m.look() || m.finalize() {
	}
}

// finalize lets an object go that is about to; it returns false where there is none.
func (m *world) finalize() bool {
	for _, name := range []string{"ns/gw-a", "ns/gw-b", "ns/gw-x"} {
		if ref := (api.Ref{Kind: api.KindDNSRecord, Name: name}); isDying(m.now.objects[ref]) {
			m.put(ref, nil)
			return true
		}
	}
	return false
}

// dying returns an object as one that is about to go.
func dying(o map[string]any) map[string]any {
	next := maps.Clone(o)
	next["metadata"] = maps.Clone(o["metadata"].(map[string]any))
	next["metadata"].(map[string]any)["deletionTimestamp"] = "2026-01-01T00:00:00Z"
	return next
}

func isDying(o map[string]any) bool {
	return o != nil && o["metadata"].(map[string]any)["deletionTimestamp"] != nil
}

// wrong returns what does not stand as it should; "" for nothing.
func (m *world) wrong() string {
	wanted := make(map[string]string)
	for _, name := range []string{"b", "a"} {
		ref := api.Ref{Kind: api.KindDNSPolicy, Name: "ns/" + name}
		if o := m.now.objects[ref]; o != nil {
			wanted["ns/gw-x"], wanted["ns/gw-"+name] = uidOf(o), uidOf(o)
			if text := uidOf(o) + fmt.Sprint(generationOf(o)); !strings.Contains(string(encoded(o["status"])), `"`+text+`"`) {
				return "the status of " + name
			}
		}
	}
	found := make(map[string]string)
	for ref, o := range m.now.objects {
		if ref.Kind == api.KindDNSRecord {
			if !strings.Contains(string(encoded(o["spec"])), "a.example.com") {
				return "an edited record"
			}
			found[ref.Name] = o["metadata"].(map[string]any)["ownerReferences"].([]any)[0].(map[string]any)["uid"].(string)
		}
	}
	if !maps.Equal(found, wanted) {
		return fmt.Sprint("records: ", found, ", want ", wanted)
	}
	return ""
}

// put makes, changes or, with nil, deletes an object, and has the watch tell of it.
func (m *world) put(ref api.Ref, o map[string]any) map[string]any {
	before := m.now.objects[ref]
	if before == nil && o == nil {
		return nil
	}
	m.now.version++
	if o == nil {
		delete(m.now.objects, ref)
		m.watched[ref.Kind] = append(m.watched[ref.Kind], event{ref: ref})
		return nil
	}
	namespace, name := splitName(ref.Name)
	meta, _ := o["metadata"].(map[string]any)
	if meta = maps.Clone(meta); meta == nil {
		meta = map[string]any{}
	}
	meta["namespace"], meta["name"], meta["resourceVersion"] = namespace, name, fmt.Sprint(m.now.version)
	if before == nil {
		m.uids++
		meta["uid"], meta["generation"] = fmt.Sprintf("u%d-", m.uids), 1
	}
	o["metadata"], o["kind"], o["apiVersion"] = meta, ref.Kind.String(), map[api.Kind]string{
		api.KindDNSPolicy: "kuadrant.io/v1",
		api.KindDNSRecord: "kuadrant.io/v1alpha1",
	}[ref.Kind]
	m.now.objects[ref] = o
	m.watched[ref.Kind] = append(m.watched[ref.Kind], event{ref: ref, object: encoded(o)})
	return o
}

// ServeHTTP is the API server as the Writer sees it. Watches may tell of a write, and of what comes
// after it, before the answer is read.
func (m *world) ServeHTTP(rw http.ResponseWriter, req *http.Request) {
	m.writes++
	parts := strings.Split(req.URL.Path, "/") // "", apis, group, version, namespaces, ns, resource, name[, status]
	ref := api.Ref{Kind: api.KindDNSPolicy, Name: parts[5] + "/" + parts[7]}
	if parts[6] == "dnsrecords" {
		ref.Kind = api.KindDNSRecord
	}
	var body map[string]any
	if err := json.NewDecoder(req.Body).Decode(&body); err != nil {
		m.t.Error(err)
	}
	meant, _ := body["metadata"].(map[string]any)
	if req.Method == http.MethodDelete {
		meant = body["preconditions"].(map[string]any)
	}
	o := m.now.objects[ref]
	answer, code := any(o), http.StatusOK
	switch {
	case meant["uid"] != nil && (o == nil || meant["uid"] != uidOf(o) ||
		meant["resourceVersion"] != o["metadata"].(map[string]any)["resourceVersion"]):
		answer, code = metav1.Status{
			TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: "Failure", Code: 409,
			Reason: metav1.StatusReasonConflict,
		}, http.StatusConflict
	case req.Method == http.MethodDelete && m.r.IntN(3) == 0: // a finalizer holds it
		answer = m.put(ref, dying(o))
	case req.Method == http.MethodDelete:
		m.put(ref, nil)
		answer = metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: "Success"}
	default:
		if isDying(o) && len(parts) == 8 && meant["uid"] == nil && !m.setBack {
			m.t.Errorf("%s is written to %s, which is about to go", encoded(body["spec"]), ref.Name)
		}
		next := map[string]any{}
		maps.Copy(next, o)
		if len(parts) > 8 {
			next["status"] = body["status"]
		} else {
			meta, _ := next["metadata"].(map[string]any)
			if meta = maps.Clone(meta); meta == nil {
				meta = map[string]any{}
			}
			meta["labels"], meta["ownerReferences"] = meant["labels"], meant["ownerReferences"]
			next["metadata"], next["spec"] = meta, body["spec"]
		}
		if o == nil || string(encoded(next)) != string(encoded(o)) {
			answer = m.put(ref, next)
		}
	}
	text := encoded(answer)
	for m.r.IntN(3) == 0 {
		if m.r.IntN(4) == 0 {
			m.put(ref, nil) // a user
		}
		m.watch()
	}
	if m.r.IntN(10) == 0 {
		code, text = http.StatusInternalServerError, nil // the answer is lost
	}
	rw.Header().Set("Content-Type", "application/json")
	rw.WriteHeader(code)
	_, _ = rw.Write(text)
}

// watch tells of one event; it returns false where there is none.
func (m *world) watch() bool {
	kind := [...]api.Kind{api.KindDNSPolicy, api.KindDNSRecord}[m.r.IntN(2)]
	if len(m.watched[kind]) == 0 {
		kind = api.KindDNSPolicy + api.KindDNSRecord - kind
	}
	if len(m.watched[kind]) == 0 {
		return false
	}
	e := m.watched[kind][0]
	m.watched[kind] = m.watched[kind][1:]
	s := &m.w.cache
	switch {
	case e.list != nil:
		maps.DeleteFunc(m.store, func(ref api.Ref, _ any) bool { return ref.Kind == kind })
		all := make(map[string]any)
		for name, text := range e.list {
			m.store[api.Ref{Kind: kind, Name: name}] = m.decode(kind, text)
			all[name] = s.Read(kind, text)
		}
		s.Listed(kind, "", all)
	case e.object == nil:
		delete(m.store, e.ref)
		s.Gone(kind, e.ref.Name)
	default:
		m.store[e.ref] = m.decode(kind, e.object)
		s.Stands(kind, e.ref.Name, s.Read(kind, e.object))
	}
	return true
}

func (m *world) decode(kind api.Kind, text []byte) (o any) {
	var err error
	if kind == api.KindDNSPolicy {
		o, err = api.DecodePolicy("local", text)
	} else {
		o, err = api.DecodeDNSRecord("local", text)
	}
	if err != nil {
		m.t.Fatal(err)
	}
	return o
}

// compile says what there is to say of what has been read; it returns false where that is nothing new.
func (m *world) compile() bool {
	changed := []api.Ref{}
	for _, all := range [...]map[api.Ref]any{m.store, m.told} {
		for ref := range all {
			if !reflect.DeepEqual(m.store[ref], m.told[ref]) {
				changed = append(changed, ref)
			}
		}
	}
	if len(changed) == 0 {
		return false
	}
	c := &api.Cluster{Name: "local"}
	c.Listings[api.KindDNSPolicy], c.Listings[api.KindDNSRecord] = api.Listed, api.Listed
	policies, known := c.Policies.Edit(), c.DNSRecords.Edit()
	for ref, o := range m.store {
		if p, ok := o.(*api.DNSPolicy); ok {
			policies.Set(ref.Name, p)
		} else {
			known.Set(ref.Name, o.(*api.DNSRecord))
		}
	}
	c.Policies, c.DNSRecords = policies.Map(), known.Map()
	// Whoever has, had or wants a name is looked at, as the objects that contend for one are.
	changed = append(changed, api.Ref{Kind: api.KindDNSPolicy, Name: "ns/a"}, api.Ref{Kind: api.KindDNSPolicy, Name: "ns/b"})
	slices.SortFunc(changed, func(a, b api.Ref) int { return strings.Compare(a.Name, b.Name) })
	said := &replica{verdict: m.says.verdict} // it has the children of this compile, whatever comes later
	said.children = func(p *api.DNSPolicy) (all []api.Child) {
		_, first := c.Policies.Get("ns/a")
		for _, name := range []string{"gw-" + p.BareName(), "gw-x"} {
			child := recordOf(p, name, "192.0.2.1")
			if o, ok := c.DNSRecords.Get(child.Name); ok && o.Controller.UID != p.UID {
				child.Replace, child.Replaced = true, o.UID
			}
			if name != "gw-x" || !first || p.Name == "ns/a" {
				all = append(all, child)
			}
		}
		return all
	}
	m.told = maps.Clone(m.store)
	m.w.Follow(says{said, c}, changed)
	return true
}

// look looks at one object; it returns false where there is none.
func (m *world) look() bool {
	k := m.w.work
	if k.queue.Len() == 0 {
		return false
	}
	ref, _ := k.queue.Get()
	k.look(m.t.Context(), ref)
	k.queue.Done(ref)
	return true
}

func encoded(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return text
}

func uidOf(o map[string]any) string { return o["metadata"].(map[string]any)["uid"].(string) }

func generationOf(o map[string]any) int { return o["metadata"].(map[string]any)["generation"].(int) }
