package controller

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// registryOf says what there is to keep: while something is named, what is on record.
type registryOf struct {
	k           *registry
	named, gone bool
	ended       bool
	owners      map[string]api.Owner
	serials     map[string]api.Kept
	locked      bool          // the registry was locked when it was asked for all
	asked       time.Duration // when it was asked about a line last, after the registry began
}

func (n *registryOf) Kept() uint64 { return n.k.generation }

func (n *registryOf) Owners() map[string]api.Owner {
	if n.k.mu.TryLock() {
		n.k.mu.Unlock()
	} else {
		n.locked = true
	}
	if n.named {
		return n.owners
	}
	return nil
}

func (n *registryOf) Serials() map[string]api.Kept {
	if n.named {
		return n.serials
	}
	return nil
}

func (n *registryOf) Gone(string, api.Owner) (gone, known bool) {
	n.asked = n.k.w.now().Sub(n.k.began)
	return n.gone, n.named
}
func (n *registryOf) Unserved(string) bool         { return !n.named }
func (n *registryOf) Ended(string, api.Owner) bool { return n.ended }
func (n *registryOf) Contested(key string) bool    { return strings.HasPrefix(key, "wanted") }
func (n *registryOf) Zone(string) string           { return "example.com." }

// The ConfigMaps of a registry of one line.
const (
	ownersMap  = "lease-owners-0"
	serialsMap = "lease-serials"
)

// lines are what a ConfigMap holds in its version; owner is the bare name of a policy.
func lines(name, version, owner string) *corev1.ConfigMap {
	data := map[string]string{fieldOwners: "www.example.com. east DNSPolicy ns/" + owner + " -\n"}
	if name == serialsMap {
		kept := api.Kept{Hash: strings.Repeat("0", 32), Serial: 2026112201}
		data = map[string]string{fieldSerials: serialLine("there.example.com.", kept) + "\n"}
	}
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: "u", ResourceVersion: version, Labels: map[string]string{labelLease: "lease"}},
		Data:       data,
	}
}

// keeping returns a registry that has read one ConfigMap, and what there is to keep: nothing of its own.
func keeping(t *testing.T, name string) *registryOf {
	t.Helper()
	w, _ := unreachable(t, func(o *Options) { o.Keep = true })
	_ = (*registryStore)(w.registry).Replace([]any{lines(name, "1", "p")}, "1")
	if w.registry.owners.values.Len()+w.registry.serials.values.Len() != 1 {
		t.Fatal("nothing was read")
	}
	n := &registryOf{k: w.registry}
	w.Keep(n)
	return n
}

// TestForgets: a line goes when nothing has named its cluster, or its zone, for ten minutes (docs/write-back.md). A Secret, or a Zone,
// that is deleted and made anew does not cost it, neither the first time nor a second one.
func TestForgets(t *testing.T) {
	for _, name := range []string{ownersMap, serialsMap} {
		for _, holds := range []bool{false, true} { // there is something of its own while it is named
			n := keeping(t, name)
			if holds {
				n.owners, n.serials = make(map[string]api.Owner), make(map[string]api.Kept)
				for key, o := range n.k.owners.values.All() {
					n.owners[key] = o
				}
				for key, s := range n.k.serials.values.All() {
					n.serials[key] = s
				}
			}
			for _, at := range []struct {
				after time.Duration
				named bool
			}{
				{time.Hour, true},
				{2 * time.Hour, false}, // deleted
				{2*time.Hour + 9*time.Minute, false},
				{2*time.Hour + 10*time.Minute, true}, // made anew
				{26 * time.Hour, true},               // a day later still
				{26*time.Hour + time.Second, false},  // deleted a second ago
			} {
				n.named = at.named
				if err := n.k.write(t.Context(), at.after); err != nil {
					t.Errorf("%s: after %v, named %v: a line is dropped, or something else written: %v", name, at.after, at.named, err)
				}
			}
			if err := n.k.write(t.Context(), 26*time.Hour+11*time.Minute); err == nil { // no server is there to write to
				t.Errorf("%s: after ten minutes the line stays", name)
			}
		}
	}
}

// TestForgetsWhileNothingHappens: it goes whether or not anything else changes then.
func TestForgetsWhileNothingHappens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := keeping(t, ownersMap)
		n.k.began, n.k.w.work = n.k.w.now(), newWork(n.k.w, n.k.w.look)
		n.k.w.work.add(registryRef)
		go n.k.w.work.run(t.Context())
		time.Sleep(24 * time.Hour)
		synctest.Wait()
		if n.asked <= forget {
			t.Errorf("nothing has named the cluster for a day, and the line was looked at last after %v: it stays", n.asked)
		}
	})
}

// TestUnregistered: names that have had no line for a minute are counted by the replica that writes (rule 5.4).
func TestUnregistered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := keeping(t, ownersMap)
		n.named, n.owners = true, map[string]api.Owner{
			"www.example.com.": {Cluster: "east", Kind: api.KindDNSPolicy, Name: "ns/p"},
			"no line.":         {Cluster: "east", Kind: api.KindDNSPolicy, Name: "ns/p"},
		}
		check := func(want map[string]int) {
			t.Helper()
			if err := n.k.write(t.Context(), 0); err != nil || !maps.Equal(n.k.w.Unregistered(), want) {
				t.Errorf("%v without a line, want %v: %v", n.k.w.Unregistered(), want, err)
			}
		}
		check(nil) // another replica writes
		n.k.w.work = newWork(n.k.w, n.k.w.look)
		defer n.k.w.work.queue.ShutDown()
		check(nil)
		time.Sleep(lineTime - 1)
		check(nil)
		time.Sleep(time.Nanosecond)
		check(map[string]int{"example.com.": 1})
		n.owners = nil
		check(nil)
	})
}

// TestEndedLine: the line of an object that went while nobody watched goes at once (rule 5.4).
func TestEndedLine(t *testing.T) {
	n := keeping(t, ownersMap)
	n.named, n.gone, n.ended = true, true, true
	if err := n.k.write(t.Context(), 0); err == nil { // no server is there to write to
		t.Error("the line stays")
	}
}

// TestNameIsKept: the line of an owner that has gone stays for 30 s, in which nobody but its namespace may have the name (rule 5.4), and
// for as long again where it was there in between.
func TestNameIsKept(t *testing.T) {
	n := keeping(t, ownersMap)
	n.named = true
	for _, step := range []struct {
		gone    bool
		at      time.Duration
		written bool
	}{
		{true, time.Hour, false},
		{true, time.Hour + 30*time.Second, false},
		{false, time.Hour + 30*time.Second, false},
		{true, 2 * time.Hour, false},
		{true, 2*time.Hour + 30*time.Second, false},
		{true, 2*time.Hour + 30*time.Second + 1, true},
	} {
		n.gone = step.gone
		if err := n.k.write(t.Context(), step.at); (err != nil) != step.written { // no server is there to write to
			t.Errorf("gone %v after %v: %v", step.gone, step.at, err)
		}
	}
}

// TestKeepDoesNotWaitForOwners: Owners goes through all names. What publishes the next snapshot calls Writer.Keep, and must not wait
// for that.
func TestKeepDoesNotWaitForOwners(t *testing.T) {
	n := keeping(t, ownersMap)
	if err := n.k.write(t.Context(), 0); err != nil || n.locked {
		t.Errorf("%v; the lock that Keep needs is held while all names are gone through: %v", err, n.locked)
	}
}

// TestKeptAfterRestore: etcd is set back to an older state. A list tells what the
// ConfigMaps hold now, whatever versions they had before; a registry that goes on to believe the
// newer ones can write none of them again, for their versions never come.
func TestKeptAfterRestore(t *testing.T) {
	var kept Kept
	w, _ := unreachable(t, func(o *Options) { o.Keep, o.Kept = true, func(k Kept) { kept = k } })
	store := (*registryStore)(w.registry)
	_ = store.Replace([]any{lines(ownersMap, "1000", "newer")}, "1000")
	_ = store.Replace([]any{lines(ownersMap, "400", "older")}, "500") // a list of the restored server
	if o, _ := kept.Owners.Get("www.example.com."); o.Name != "ns/older" {
		t.Errorf("after the restore the owner is %s", o.Name)
	}
	if got := w.registry.owners.shards[ownersMap].version; got != "400" {
		t.Errorf("the next write is sent for version %s, and the server has 400: a conflict for ever", got)
	}
}

// former returns a ConfigMap with a serial under another Lease.
func former(namespace, name string, serial uint32) corev1.ConfigMap {
	return corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{labelLease: "former"}},
		Data:       map[string]string{fieldSerials: serialLine("there.example.com.", api.Kept{Hash: "h", Serial: serial}) + "\n"},
	}
}

// TestSerialsOfFormerLeases: serials go on above those under other Leases, in this namespace and in others that can be read, as of the
// first list and of the moment when this replica begins to write (rule 6.7, bug A5). Whoever may write ConfigMaps in another namespace
// cannot move them far.
func TestSerialsOfFormerLeases(t *testing.T) {
	elsewhere := corev1.ConfigMapList{Items: []corev1.ConfigMap{former("old", "former-serials", 2000010150)}}
	srv := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) {
		if req.URL.Path != "/api/v1/configmaps" || req.URL.Query().Get("labelSelector") != labelLease {
			t.Errorf("%s is asked for", req.URL)
		}
		rw.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(rw).Encode(elsewhere)
	}))
	defer srv.Close()
	for _, c := range []struct{ here, there, want uint32 }{
		{0, 0, 0},
		{2000010120, 0, 2000010120},
		{0, 2000010150, 2000010150},
		{2000010120, 2000010150, 2000010150},
		{2000010120, 2100010100, 2000010120},
		{2100010100, 0, 2100010100},
	} {
		var kept Kept
		w, _ := unreachable(t, func(o *Options) {
			o.Keep, o.Config, o.Kept = true, &rest.Config{Host: srv.URL}, func(k Kept) { kept = k }
		})
		w.now = func() time.Time { return time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC) }
		list := []any{lines(serialsMap, "1", "")}
		if here := former("ns", "former-serials", c.here); c.here > 0 {
			list = append(list, &here)
		}
		if elsewhere.Items = nil; c.there > 0 {
			elsewhere.Items = append(elsewhere.Items, former("old", "former-serials", c.there))
		}
		store := (*registryStore)(w.registry)
		_ = store.Replace(list, "1")
		if got := kept.Former["there.example.com."].Serial; got != c.want || kept.Serials.Len() != 1 {
			t.Errorf("%+v: serials above %d, %d kept", c, got, kept.Serials.Len())
		}
		next := former("ns", "former-serials", 2100010101)
		_ = store.Update(&next)
		if got := kept.Former["there.example.com."].Serial; got != c.want {
			t.Errorf("%+v: serials above %d at once", c, got)
		}
		w.registry.lead()
		if got := kept.Former["there.example.com."].Serial; got != 2100010101 {
			t.Errorf("%+v: the writer begins above %d", c, got)
		}
	}
}

// TestConfigMapThatAnotherHasMade: another replica has made a ConfigMap a moment ago, and the watch has
// not told of it. That it is there is no word of a missing label: who believes that deletes it.
func TestConfigMapThatAnotherHasMade(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) {
		rw.Header().Set("Content-Type", "application/json")
		rw.WriteHeader(http.StatusConflict)
		_ = json.NewEncoder(rw).Encode(metav1.Status{
			TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: "Failure",
			Code: 409, Reason: metav1.StatusReasonAlreadyExists,
		})
	}))
	defer srv.Close()
	w, lines := unreachable(t, func(o *Options) { o.Keep, o.Config, o.QPS, o.Burst = true, &rest.Config{Host: srv.URL}, 1000, 10 })
	now := w.now()
	w.lease.renewed.Store(&now)
	save := func(name string) {
		if err := w.registry.save(t.Context(), name, fieldOwners, "", identity{}); classify(err) != conflict {
			t.Fatal(err)
		}
	}
	save(ownersMap)
	save(serialsMap)
	if len(*lines) > 0 {
		t.Errorf("at once, the log says %q", *lines)
	}
	save(serialsMap) // the watch has told of the other one
	if len(*lines) != 1 || !strings.Contains((*lines)[0], serialsMap+" lacks the label") {
		t.Errorf("the second time, the log says %q", *lines)
	}
}
