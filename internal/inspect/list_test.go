package inspect

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/coredns-kuadrant/kuadrant/health"
	"github.com/coredns-kuadrant/kuadrant/internal/near"
	"github.com/coredns-kuadrant/kuadrant/records"
)

// TestTargets: each target is found by its state, one that was never checked too, and is counted once.
func TestTargets(t *testing.T) {
	var all []string
	for i := range 5 {
		all = append(all, fmt.Sprintf("g%[1]d h%[1]d.example.com 192.0.2.%[2]d", i, i+1)+checked)
	}
	v := world(t, hosts(all...), "overrides target 192.0.2.5 down")
	states := map[string]health.State{"192.0.2.1": health.Up, "192.0.2.2": health.Down, "192.0.2.3": health.Unknown, "192.0.2.5": health.Up}
	for _, target := range v.Snapshot.Checks().All() {
		if state, known := states[target.Address]; known {
			target.Cell.Set(state)
		}
	}
	for state, want := range map[string]string{
		"": "192.0.2.2 192.0.2.3 192.0.2.4 192.0.2.1 192.0.2.5", "up": "192.0.2.1 192.0.2.5", "down": "192.0.2.2",
		"unknown": "192.0.2.3", "pending": "192.0.2.4",
	} {
		page, err := v.Targets(state, "/up", 0)
		if err != nil {
			t.Fatal(err)
		}
		var found []string
		for _, one := range page.Targets {
			found = append(found, one.Address)
			if (one.Override == "down") != (one.Address == "192.0.2.5") {
				t.Errorf("%s has the word %q", one.Address, one.Override)
			}
		}
		if got := strings.Join(found, " "); got != want {
			t.Errorf("state %q finds %s, want %s", state, got, want)
		}
		if got := fmt.Sprint(page.Counts); got != "map[down:1 pending:1 unknown:1 up:2]" {
			t.Errorf("the counts are %s", got)
		}
	}
	page, err := v.Targets("", "", 4) // the worst of all, and the first of those that are up
	if err != nil || len(page.Targets) != 4 || page.More != 1 || page.Targets[0].Address != "192.0.2.2" ||
		page.Targets[3].Address != "192.0.2.1" {
		t.Errorf("of a page of four: %+v, %v", page, err)
	}
}

// TestParts: what cannot be a part of a name is refused with what to write.
func TestParts(t *testing.T) {
	v := world(t)
	for q, want := range map[string]string{
		"": "", " H0.Exam ": "", strings.Repeat("a", 253): "", "a\x00b": "non-printable", "a\nb": "non-printable",
		"\xff": "xn--", "mün": "xn--", "\u212A": "xn--",
		strings.Repeat("a", 254): "more than the 253",
	} {
		_, err := v.Names(Filter{Contains: q})
		_, other := v.Targets("", q, 0)
		for _, err := range []error{err, other} {
			if of, ok := IsRequest(err); (want == "") != (err == nil) || want != "" && (!ok || of.Field != "q" || !strings.Contains(of.Text, want)) {
				t.Errorf("%.20q: %v, want %q", q, err, want)
			}
		}
	}
}

// TestNear: names that are spelled nearly so, or that go on as a name does, are found, the nearest first.
func TestNear(t *testing.T) {
	v := world(t, hosts("a shop.example.com 192.0.2.1", "b shops.example.com 192.0.2.1", "c ships.example.com 192.0.2.1",
		"d other.example.com 192.0.2.1"), "zone n/z z.example.com. delegate=*/*", "record n/r shop in=z A 192.0.2.1")
	for name, want := range map[string]string{
		"shpo.example.com": "shop.example.com ships.example.com shops.example.com", "shop.example.com.": "shop.example.com shops.example.com ships.example.com shop.z.example.com",
		"SHOP": "shop.example.com shop.z.example.com shops.example.com", "sho.example.com": "shop.example.com shops.example.com", "": "",
		"shop.exmaple.com": "shop.example.com shops.example.com", "nothing.example.com": "", "klb.shop.example.com": "", "sh": "", "h.example.com": "",
		"shpo": "shop.example.com shop.z.example.com", "ther.exampl.com": "other.example.com",
	} {
		var found []string
		page, err := v.Names(Filter{Near: name, Limit: 9})
		for i := range page.Names {
			found = append(found, page.Names[i].Name)
		}
		if got := strings.Join(found, " "); err != nil || got != want && name != "" {
			t.Errorf("near %s are %s, %v, want %s", name, got, err, want)
		}
	}
	if page, err := v.Names(Filter{Near: "SHOP", Zone: "z.example.com", Limit: 1}); err != nil || len(page.Names) != 1 || page.Next != "" {
		t.Errorf("%+v, %v", page, err)
	}
	for words, want := range map[string]int{
		"a a": 0, "ab ba": 1, "ab b": 1, "abc abd": 1, "abcd badc": 2, "abc xyz": 3, "abcdef abc": 3, "abxcd abcdx": 2,
	} {
		if a, b, _ := strings.Cut(words, " "); near.Edits(a, b, 2) != want || near.Edits(b, a, 2) != want {
			t.Errorf("%s: %d edits, and back %d, want %d", words, near.Edits(a, b, 2), near.Edits(b, a, 2), want)
		}
	}
}

// TestUnserved: names that objects want and that have no data are listed page by page, and no others.
func TestUnserved(t *testing.T) {
	v := world(t, hosts("a served.example.com 192.0.2.1", "b served.example.com 192.0.2.1", "c other.example.net 192.0.2.1"),
		"dnsrecord n/r root=x.example.com served=example.com\n    x.example.com A 192.0.2.1\n    y.x.example.com A bad",
		"zone n/z z.example.com. delegate=none/*", "record m/r gone in=n/z A 192.0.2.1")
	const inside, outside = "gone.z.example.com in z.example.com, y.x.example.com in example.com", "other.example.net in "
	for want, f := range map[string]Filter{
		inside: {Zone: "example.com"}, outside: {Contains: "other"},
		"gone.z.example.com in z.example.com, " + outside + ", y.x.example.com in example.com": {},
	} {
		f.State, f.Limit = StateUnserved, 1
		var found []string
		for more := true; more; more = f.After != "" {
			page, err := v.Names(f)
			if err != nil || len(page.Names) != 1 {
				t.Fatal(page, err)
			}
			found = append(found, page.Names[0].Name+" in "+page.Names[0].Zone)
			f.After = page.Next
		}
		if got := strings.Join(found, ", "); got != want {
			t.Errorf("unserved are %s, want %s", got, want)
		}
	}
}

// TestTroublePages: page after page has every conflict and every object once, less what another server is to serve.
func TestTroublePages(t *testing.T) {
	all := []string{hosts("g0 h0.example.com 192.0.2.1"), "dnsrecord n/aws root=shop.example.com"}
	for i := range 12 {
		all = append(all, hosts(fmt.Sprintf("m/g%d h0.example.com 192.0.2.1", i), fmt.Sprintf("x%[1]d x%[1]d.example.com 192.0.2.1 gateway=missing", i)))
	}
	v := world(t, all...)
	if !slices.ContainsFunc(slices.Collect(v.Snapshot.Troubles()), func(o records.Trouble) bool { return o.Elsewhere }) {
		t.Error("nothing is another server's")
	}
	whole, err := v.Troubles(TroubleFilter{Limit: 1000})
	if err != nil || whole.Next != "" || whole.NextObjects != "" || len(whole.Conflicts) != 12 || len(whole.Objects) != 12 ||
		whole.AllConflicts != 12 || whole.AllObjects != 12 {
		t.Fatalf("%d conflicts and %d objects, %v", len(whole.Conflicts), len(whole.Objects), err)
	}
	var conflicts []records.Conflict
	var objects []records.Trouble
	for f, more := (TroubleFilter{Limit: 5}), true; more; {
		page, err := v.Troubles(f)
		if err != nil {
			t.Fatal(err)
		}
		conflicts, objects = append(conflicts, page.Conflicts...), append(objects, page.Objects...)
		if page.MoreConflicts != 12-len(conflicts) || page.MoreObjects != 12-len(objects) {
			t.Errorf("after %d of each, there are %d and %d more", len(conflicts), page.MoreConflicts, page.MoreObjects)
		}
		more = page.Next+page.NextObjects != ""
		f.After, f.ObjectsAfter = page.Next, page.NextObjects
	}
	if !reflect.DeepEqual(conflicts, whole.Conflicts) || !slices.Equal(objects, whole.Objects) {
		t.Errorf("the pages have\n%v\n%v, want\n%v\n%v", conflicts, objects, whole.Conflicts, whole.Objects)
	}
	if page, err := v.Troubles(TroubleFilter{After: "1000"}); err != nil || len(page.Conflicts)+page.MoreConflicts != 0 || page.Next != "" {
		t.Errorf("behind the last: %+v, %v", page, err)
	}
	for _, f := range []TroubleFilter{{After: "x"}, {ObjectsAfter: "-1"}, {After: "99999999999999999999"}} {
		if _, err := v.Troubles(f); err == nil {
			t.Errorf("%+v is taken", f)
		}
	}
}

// TestFilterStates: where several have said something of an address, each is told, and what checks find beneath it.
func TestFilterStates(t *testing.T) {
	const stopped = " | programmed=False"
	for _, c := range []struct{ overrides, gateway, want string }{
		{"", "", ""},
		{"target 192.0.2.1 up", "", "the operator says up"},
		{"gateway n/g drain", "", "the operator says drain"},
		{"target 192.0.2.1 down;gateway n/g drain", "", "the operator says down; of its Gateway the operator says drain"},
		{"", stopped, "its Gateway is not programmed"},
		{
			"target 192.0.2.1 up;gateway n/g drain", stopped,
			"the operator says up; of its Gateway the operator says drain; its Gateway is not programmed",
		},
	} {
		v := world(t, hosts("g h.example.com 192.0.2.1"+checked+c.gateway), "overrides "+c.overrides)
		for _, target := range v.Snapshot.Checks().All() {
			target.Cell.Set(health.Down)
		}
		tree, err := v.Tree("h.example.com")
		if err != nil {
			t.Fatal(err)
		}
		x, err := v.Explain(Question{Name: "h.example.com"})
		if err != nil {
			t.Fatal(err)
		}
		for _, all := range [][]records.AddressState{tree.Addrs, x.Steps[0].Addresses} {
			if len(all) != 1 || OverridesText(&all[0]) != c.want || len(all[0].Checks) != 1 || all[0].Checks[0].State != "down" ||
				!strings.HasPrefix(CheckText(&all[0].Checks[0]), "http://192.0.2.1:80/Up: down") {
				t.Errorf("%q: %+v, want %q", c.overrides, all, c.want)
			}
		}
	}
}

// TestSources: of data that nobody steers it is said which objects they come from.
func TestSources(t *testing.T) {
	all := []string{"zone n/z z.example.com. delegate=*/*", "record n/one a in=z TXT one", "record n/two a in=z MX 10 mx.example.net."}
	for i := range 30 {
		all = append(all, fmt.Sprintf("record n/many%02d many in=z TXT %d", i, i))
	}
	v := world(t, all...)
	page, err := v.Names(Filter{})
	if err != nil {
		t.Fatal(err)
	}
	found := make(map[string]string)
	for i := range page.Names {
		n := &page.Names[i]
		found[n.Name] = SourcesText(n)
		tree, err := v.Tree(n.Name)
		if err != nil || SourcesText(&tree.NameState) != found[n.Name] {
			t.Errorf("%s: the tree says %q, %v", n.Name, SourcesText(&tree.NameState), err)
		}
	}
	for name, want := range map[string]string{
		"example.com": "the Corefile", "z.example.com": "Zone n/z in cluster a, the Corefile",
		"a.z.example.com":    "Record n/two in cluster a, Record n/one in cluster a",
		"many.z.example.com": " and 27 more",
	} {
		if got, ok := found[name]; !ok || got != want && !strings.HasSuffix(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
