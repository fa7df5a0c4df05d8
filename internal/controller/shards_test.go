package controller

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/coredns-kuadrant/kuadrant/api"
)

func newOwners() *sharded[api.Owner] {
	return &sharded[api.Owner]{
		field: fieldOwners, prefix: "l-owners", write: ownerLine, read: parseOwner,
		shards: make(map[string]*shard[api.Owner]),
	}
}

// save does with drafts what an API server would.
func save[T comparable](t *testing.T, s *sharded[T], drafts []draft[T]) {
	t.Helper()
	for _, d := range drafts {
		text := s.text(d.values)
		if len(text) > mostVolume {
			t.Errorf("%s has %d bytes", d.name, len(text))
		}
		v, fault := s.parse(text)
		if fault != "" || !maps.Equal(v.values, d.values) {
			t.Errorf("%s is not read as it is written: %s", d.name, fault)
		}
		s.put(d.name, v)
	}
}

// TestShards makes changes at random: after what is planned is written, the ConfigMaps hold
// what is wanted and nothing else, and nothing more is to be written.
func TestShards(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 5))
		s := newOwners()
		wanted := make(map[string]api.Owner)
		for range 20 {
			for range r.IntN(400) {
				key := fmt.Sprintf("host%d.%sexample.com.", r.IntN(4000), strings.Repeat("long.", r.IntN(20)))
				switch r.IntN(4) {
				case 0:
					delete(wanted, key)
				default:
					wanted[key] = api.Owner{
						Cluster: "local", Kind: api.Kind(r.IntN(7)), Name: fmt.Sprintf("ns%d/p", r.IntN(9)),
						UID: []string{"", "u1"}[r.IntN(2)], ClusterUID: []string{"", "u2"}[r.IntN(2)], Secret: []string{"", "dns"}[r.IntN(2)],
					}
				}
			}
			drafts, left := s.plan(wanted, slices.Sort, func(string, api.Owner) bool { return true })
			if left > 0 {
				t.Fatalf("seed %d: %d without room", seed, left)
			}
			save(t, s, drafts)
			if s.values.Len() != len(wanted) {
				t.Fatalf("seed %d: %d are kept, want %d", seed, s.values.Len(), len(wanted))
			}
			for key, o := range wanted {
				if got, _ := s.values.Get(key); got != o {
					t.Fatalf("seed %d: %s: kept %+v, want %+v", seed, key, got, o)
				}
			}
			if drafts, _ := s.plan(wanted, slices.Sort, func(string, api.Owner) bool { return true }); len(drafts) > 0 {
				t.Fatalf("seed %d: %d more ConfigMaps are to be written", seed, len(drafts))
			}
		}
	}
}

// TestShardsOfMany: many names take several ConfigMaps, and one more name changes one of them.
func TestShardsOfMany(t *testing.T) {
	s := newOwners()
	wanted := make(map[string]api.Owner)
	for i := range 10_000 {
		wanted[fmt.Sprintf("host%d.example.com.", i)] = api.Owner{
			Cluster: "local", Kind: api.KindDNSPolicy,
			Name: fmt.Sprintf("ns%d/policy", i), UID: "7c1c6a44-6a3c-4b7c-9a5a-000000000000",
		}
	}
	keepAll := func(string, api.Owner) bool { return false }
	drafts, _ := s.plan(wanted, slices.Sort, keepAll)
	if len(drafts) < 3 || len(drafts) > 8 || drafts[0].name != "l-owners-0" || drafts[1].name != "l-owners-1" {
		t.Fatalf("%d ConfigMaps for 10,000 names", len(drafts))
	}
	save(t, s, drafts)
	wanted["new.example.com."] = api.Owner{Cluster: "local", Kind: api.KindDNSPolicy, Name: "a/b"}
	if drafts, _ = s.plan(wanted, slices.Sort, keepAll); len(drafts) != 1 {
		t.Errorf("one more name writes %d ConfigMaps", len(drafts))
	}
	// What is kept of names that nobody wants stays where it may not go.
	save(t, s, drafts)
	if drafts, _ = s.plan(nil, slices.Sort, keepAll); len(drafts) != 0 {
		t.Errorf("%d ConfigMaps are written to forget what is to stay", len(drafts))
	}
}

// TestShardsTwice: of a name that two ConfigMaps have, the first counts, and it goes from the
// other.
func TestShardsTwice(t *testing.T) {
	s := newOwners()
	one, two := api.Owner{Cluster: "c", Kind: api.KindZone, Name: "a/b"}, api.Owner{Cluster: "c", Kind: api.KindZone, Name: "c/d"}
	for name, o := range map[string]api.Owner{"l-owners-10": two, "l-owners-9": one} {
		v, _ := s.parse(ownerLine("x.example.", o))
		s.put(name, v)
	}
	if got, _ := s.values.Get("x.example."); got != one {
		t.Errorf("%+v counts", got)
	}
	drafts, _ := s.plan(map[string]api.Owner{"x.example.": one}, slices.Sort, func(string, api.Owner) bool { return true })
	if len(drafts) != 1 || drafts[0].name != "l-owners-10" || len(drafts[0].values) != 0 {
		t.Errorf("planned: %+v", drafts)
	}
}

// TestOwnerLines: lines of the first edition are read and filled in where they stand, words of later ones change nothing,
// and the first edition, which knows flags and no fields, finds the owner of ours (rule 5.4).
func TestOwnerLines(t *testing.T) {
	want := api.Owner{Cluster: "east", Kind: api.KindDNSPolicy, Name: "shop/web", UID: "u"}
	for _, line := range []string{
		"www.example.com. east DNSPolicy shop/web u alone",
		"www.example.com. east DNSPolicy shop/web u later=1 alone chain more",
	} {
		if key, got, err := parseOwner(line); err != nil || key != "www.example.com." || got != want {
			t.Errorf("%q is read as %q %+v, %v", line, key, got, err)
		}
	}
	s := newOwners()
	s.same = sameOwner
	v, _ := s.parse("www.example.com. east DNSPolicy shop/web u alone\n")
	s.put("l-owners-0", v)
	full := want
	full.Cluster, full.ClusterUID, full.Secret = "renamed", "k", "dns"
	filled := want
	filled.ClusterUID, filled.Secret = "k", "dns"
	for _, next := range []api.Owner{filled, full} {
		drafts, _ := s.plan(map[string]api.Owner{"www.example.com.": next}, slices.Sort, func(string, api.Owner) bool { return false })
		save(t, s, drafts)
		if got, _ := s.values.Get("www.example.com."); got != next {
			t.Errorf("kept is %+v, want %+v", got, next)
		}
	}
	words := strings.Fields(ownerLine("www.example.com.", full))
	if first := "www.example.com. renamed DNSPolicy shop/web u"; strings.Join(words[:5], " ") != first {
		t.Errorf("the first edition reads %q, want %q", words, first)
	}
}

// TestBugD3Escapes: names that hold what separates words and lines are kept as any others.
func TestBugD3Escapes(t *testing.T) {
	s := newOwners()
	wanted := make(map[string]api.Owner)
	for _, name := range []string{`x\010y.test.`, `x\ y.test.`, `x\\\ y.test.`, `x\\032y.test.`, api.ZoneKey(`\ .test.`)} {
		wanted[name] = api.Owner{Cluster: "c", Kind: api.KindRecord, Name: "n/r"}
		kept := api.Kept{Hash: "h", Serial: 1}
		if origin, got, err := parseSerial(serialLine(name, kept)); origin != name || got != kept || err != nil {
			t.Errorf("the serial of %q is that of %q, %v, %v", name, origin, got, err)
		}
	}
	drafts, left := s.plan(wanted, slices.Sort, func(string, api.Owner) bool { return false })
	if save(t, s, drafts); left > 0 || !maps.Equal(maps.Collect(s.values.All()), wanted) {
		t.Errorf("%d find no room, kept is %v", left, maps.Collect(s.values.All()))
	}
}

// TestLinesGrow: lines that are filled in may make a ConfigMap larger than new ones may, but not larger than an API server
// takes. What does not fit keeps its owner.
func TestLinesGrow(t *testing.T) {
	s := newOwners()
	s.same = sameOwner
	wanted := make(map[string]api.Owner)
	for i := range 5000 {
		wanted[fmt.Sprintf("h%d.example.com.", i)] = api.Owner{Cluster: "c", Kind: api.KindDNSPolicy, Name: "n/p"}
	}
	keepAll := func(string, api.Owner) bool { return false }
	drafts, _ := s.plan(wanted, slices.Sort, keepAll)
	save(t, s, drafts)
	for key, o := range wanted {
		o.Secret = strings.Repeat("s", 253)
		wanted[key] = o
	}
	for range 3 {
		drafts, left := s.plan(wanted, slices.Sort, keepAll)
		save(t, s, drafts)
		if left != 0 || s.values.Len() != len(wanted) {
			t.Fatalf("%d of %d are kept, %d find no room", s.values.Len(), len(wanted), left)
		}
	}
}

// FuzzOwnerLine: any text is read or refused, and what is read is written as it was read.
func FuzzOwnerLine(f *testing.F) {
	f.Add("www.example.com. local DNSPolicy ns/name uid alone chain")
	f.Add("www.example.com. local DNSPolicy ns/name - secret=dns cluster=uid")
	f.Add("zone:example.com. local Zone ns/name -")
	f.Fuzz(func(t *testing.T, line string) {
		key, o, err := parseOwner(line)
		if err != nil || key == "" {
			return
		}
		if key2, o2, err := parseOwner(ownerLine(key, o)); err != nil || key2 != key || o2 != o {
			t.Errorf("%q is read as %q %+v, written as %q", line, key, o, ownerLine(key, o))
		}
	})
}

// TestObsoleteLines: a line that only older versions write is read, and counts for nothing.
func TestObsoleteLines(t *testing.T) {
	s := newOwners()
	v, fault := s.parse("cut:sub.example.com. c Zone dns/z -\nwww.example.com. c DNSPolicy shop/web u alone\n")
	if _, ok := v.values["www.example.com."]; fault != "" || !ok || len(v.values) != 1 {
		t.Errorf("read %v, with %q", v.values, fault)
	}
}

// TestInTurns: Zones have their lines first, then names that others want, then the rest; namespaces take turns (rule 5.4).
func TestInTurns(t *testing.T) {
	wanted := map[string]api.Owner{api.ZoneKey("z.example."): {Name: "many/z"}, "wanted.example.": {Name: "one/a"}, "last.example.": {Name: "one/b"}}
	for i := range 3 {
		wanted[fmt.Sprintf("a%d.example.", i)] = api.Owner{Name: "many/b"}
		wanted[fmt.Sprintf("wanted%d.example.", i)] = api.Owner{Name: "many/a"}
	}
	keys := slices.Collect(maps.Keys(wanted))
	inTurns(keys, wanted, func(key string) bool { return strings.HasPrefix(key, "wanted") })
	want := "zone:z.example. wanted.example. wanted0.example. wanted1.example. wanted2.example. a0.example. last.example. a1.example. a2.example."
	if got := strings.Join(keys, " "); got != want {
		t.Errorf("lines come as %s\nwant %s", got, want)
	}
}
