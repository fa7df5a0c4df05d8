package records_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records"
	"github.com/coredns-kuadrant/kuadrant/records/recordstest"
)

// parents are the objects of a cluster that have children.
func parents(c *api.Cluster) (all []api.Ref) {
	for _, k := range [...]api.Kind{api.KindDNSPolicy, api.KindDNSRecord} {
		for name := range c.Names(k, "") {
			all = append(all, api.Ref{Kind: k, Name: name})
		}
	}
	return all
}

// write does what a writer does for an object: it makes the children that the object should have, and deletes the others.
func write(t *testing.T, w *recordstest.World, cluster string, of api.Ref) {
	t.Helper()
	wanted := make(map[api.Ref]bool)
	w.Apply(t, "cluster "+cluster)
	for _, c := range w.Snapshot.Children(cluster, of) {
		wanted[api.Ref{Kind: c.Kind, Name: c.Name}] = true
		_, owner, _ := strings.Cut(c.Owner.Name, "/")
		by := fmt.Sprintf(" managed owner=%s/%s/%s", c.Owner.Kind, owner, c.Owner.UID)
		if p := c.Probe; p != nil {
			w.Apply(t, fmt.Sprintf("probe %s %s host=%s check=%s:%d%s", c.Name, p.Address, strings.TrimPrefix(p.Host, "*."), p.Check.Protocol, p.Check.Port, p.Check.Path)+by)
			continue
		}
		line := fmt.Sprintf("dnsrecord %s root=%s zone=%s", c.Name, c.Record.RootHost, c.Record.ZoneID) + by
		if c.Record.Provider.Name != "" {
			line += " provider=" + c.Record.Provider.Name
		}
		for _, e := range c.Record.Endpoints {
			line += fmt.Sprintf("\n    %s %s %s ttl=%d", e.DNSName, e.Type, strings.Join(e.Targets, " "), e.TTL)
		}
		w.Apply(t, line)
	}
	words := map[api.Kind]string{api.KindDNSRecord: "dnsrecord", api.KindProbe: "probe"}
	for _, ref := range w.Snapshot.Existing(cluster, of) {
		if !wanted[ref] {
			w.Apply(t, "delete "+words[ref.Kind]+" "+ref.Name)
		}
	}
}

// TestChildrenFollowed has a writer write the children of random objects while these change: whoever asks again for those that
// ChildrenChanged names knows all, no object takes the name of a child that another one has, and once all are written nothing is left to do
// (docs/write-back.md). World.Step compares what comes step by step with what comes from nothing.
func TestChildrenFollowed(t *testing.T) {
	for seed := range recordstest.Seeds(t, 16) {
		w := recordstest.New(t, recordstest.Zones("example.com.", "a.example.com."))
		m := recordstest.NewMutator(seed)
		m.Rand, m.Clusters = rand.New(rand.NewPCG(seed, 9)), 1+int(seed%2)
		m.Zones, m.Endpoints, m.Health, m.Children, m.Providers, m.Listings, m.Klb = false, true, true, true, seed%2 == 0, false, false
		known := make(map[records.ParentRef]string)
		for range 16 {
			for range 1 + m.IntN(3) {
				m.Mutate(t, w)
			}
			if s := w.Snapshot; s != nil {
				for _, c := range s.Objects().Clusters {
					if all := parents(c); len(all) > 0 {
						write(t, w, c.Name, all[m.IntN(len(all))])
					}
				}
			}
			s := w.Step(t)
			follow(t, s, known)
			one := make(map[string]records.ParentRef)
			for of := range everyParent(s) {
				for _, c := range s.Children(of.Cluster, of.Of) {
					key := fmt.Sprint(of.Cluster, c.Kind, c.Name)
					other, twice := one[key]
					if has := func(p records.ParentRef) bool {
						return slices.Contains(s.Existing(p.Cluster, p.Of), api.Ref{Kind: c.Kind, Name: c.Name})
					}; twice && (has(of) || has(other)) {
						t.Fatalf("seed %d: %v and %v both want %s, which one of them has", seed, other, of, key)
					}
					one[key] = of
				}
			}
		}
		settle(t, w)
	}
}

func everyParent(s *records.Snapshot) map[records.ParentRef]bool {
	all := make(map[records.ParentRef]bool)
	for _, c := range s.Objects().Clusters {
		for _, of := range parents(c) {
			all[records.ParentRef{Cluster: c.Name, Of: of}] = true
		}
	}
	return all
}

// follow asks again for the children that have changed, and checks that all are known.
func follow(t *testing.T, s *records.Snapshot, known map[records.ParentRef]string) {
	t.Helper()
	all, changed := everyParent(s), s.ChildrenChanged()
	if changed == nil {
		changed = slices.Collect(maps.Keys(all))
	}
	for _, of := range changed {
		known[of] = childrenOf(s, of)
	}
	for of := range all {
		if is := childrenOf(s, of); known[of] != is && known[of]+is != "[]" {
			t.Fatalf("nobody told that the children of %v are\n%s\nand not\n%s", of, is, known[of])
		}
	}
}

// childrenOf writes down what children an object should have, and those that it has.
func childrenOf(s *records.Snapshot, of records.ParentRef) string {
	var all []string
	for _, c := range s.Children(of.Cluster, of.Of) {
		line := fmt.Sprint(c.Kind, c.Name, c.Replace, c.Replaced, c.Labels)
		if c.Record != nil {
			line += fmt.Sprint(*c.Record)
		}
		if c.Probe != nil {
			line += fmt.Sprint(*c.Probe)
		}
		all = append(all, line)
	}
	there := s.Existing(of.Cluster, of.Of)
	slices.SortFunc(there, func(a, b api.Ref) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	return strings.Join(all, "\n") + fmt.Sprint(there)
}

// settle writes all children until nothing is left to do, which must be soon.
func settle(t *testing.T, w *recordstest.World) {
	t.Helper()
	before := ""
	for range 5 {
		for of := range everyParent(w.Snapshot) {
			write(t, w, of.Cluster, of.Of)
		}
		var now []string
		for of := range everyParent(w.Step(t)) {
			now = append(now, fmt.Sprint(of, childrenOf(w.Snapshot, of)))
		}
		slices.Sort(now)
		if text := strings.Join(now, "\n"); text == before {
			return
		} else {
			before = text
		}
	}
	t.Fatalf("the children have not come to rest:\n%s", before)
}

// TestCollidingChildren: of two policies that come at once and want one name, one gets it, the other another name, and both keep them.
func TestCollidingChildren(t *testing.T) {
	w := recordstest.New(t, recordstest.Zones("example.com."), "gateway n/a host=b-l0:a.example.com addr=192.0.2.1\npolicy n/a uid=u1\ngateway n/a-b host=l0:b.example.com addr=192.0.2.1\npolicy n/a-b uid=u2")
	w.Step(t)
	settle(t, w)
	names := make(map[string]bool)
	for name := range w.Snapshot.Objects().Clusters[0].DNSRecords.All() {
		names[name] = true
	}
	if len(names) != 2 || !names["n/a-b-l0"] {
		t.Errorf("the DNSRecords are %v", names)
	}
	for of := range everyParent(w.Snapshot) {
		for _, c := range w.Snapshot.Children(of.Cluster, of.Of) {
			if c.Replace || c.Owner.Kind != api.KindDNSPolicy || c.Owner.Name != of.Of.Name || c.Labels[api.LabelManagedBy] != api.ManagedBy {
				t.Errorf("%+v", c)
			}
		}
	}
}

// TestReplacedChild: the child that takes the place of another object names that by its UID.
func TestReplacedChild(t *testing.T) {
	s := recordstest.New(t, recordstest.Zones("example.com."), "gateway n/a host=l:a.example.com addr=192.0.2.1\npolicy n/a uid=u1\ndnsrecord n/a-l uid=u9 managed owner=DNSPolicy/a/u1 root=was.example.com zone=example.com was.example.com A 192.0.2.1").Step(t)
	if all := s.Children("c1", api.Ref{Kind: api.KindDNSPolicy, Name: "n/a"}); len(all) != 1 || !all[0].Replace || all[0].Replaced != "u9" {
		t.Errorf("%+v", all)
	}
}

// TestFollowersOfATarget: what is found of a target is told to the objects whose status says so, the probe and the DNSRecord or policy (rule 4.8).
func TestFollowersOfATarget(t *testing.T) {
	s := recordstest.New(t, recordstest.Zones("example.com."), `dnsrecord n/r uid=u root=a.example.com zone=example.com check=HTTP:80/up a.example.com A 192.0.2.1
probe n/r-192.0.2.1 192.0.2.1 host=a.example.com check=HTTP:80/up managed owner=DNSRecord/r/u
gateway n/g host=b.example.com addr=192.0.2.2
policy n/g check=HTTP:80/up`).Step(t)
	var told []string
	for key := range s.Checks().All() {
		for cluster, ref := range s.Followers(key) {
			told = append(told, fmt.Sprint(cluster, " ", ref.Kind, " ", ref.Name))
		}
	}
	slices.Sort(told)
	if want := []string{"c1 DNSHealthCheckProbe n/r-192.0.2.1", "c1 DNSPolicy n/g", "c1 DNSRecord n/r"}; !slices.Equal(slices.Compact(told), want) {
		t.Errorf("told are %q, want %q", told, want)
	}
}
