package status

import (
	"strings"
	"testing"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// TestPlainNames: of children that want one name, the first has it; a name that is too long is cut, and ends with a hash.
func TestPlainNames(t *testing.T) {
	long := strings.Repeat("a", maxObjectName+1)
	all := []wanted{
		{kind: api.KindDNSRecord, name: "g-l", of: "1"},
		{kind: api.KindDNSRecord, name: "g-l", of: "2"},
		{kind: api.KindProbe, name: "g-l", of: "3"},
		{kind: api.KindProbe, name: long, of: "4"},
	}
	taken := plainNames(all, "ns")
	if len(taken) != len(all) {
		t.Fatalf("%d children have the names %v", len(all), taken)
	}
	for _, kind := range []api.Kind{api.KindDNSRecord, api.KindProbe} {
		if !taken[api.Ref{Kind: kind, Name: "ns/g-l"}] {
			t.Errorf("no %s is ns/g-l: %v", kind, taken)
		}
	}
	for ref := range taken {
		name := strings.TrimPrefix(ref.Name, "ns/")
		if len(name) > maxObjectName || name != "g-l" && !strings.HasPrefix(name, "g-l-") && !strings.HasPrefix(name, "aaa") {
			t.Errorf("a child is named %s", ref.Name)
		}
	}
}

func TestWantedNames(t *testing.T) {
	w := wanted{name: strings.Repeat("a", cutObjectName-1) + "--b", of: "1"}
	plain, hashed := w.names("ns")
	if plain != "ns/"+w.name {
		t.Errorf("the plain name is %s", plain)
	}
	if cut := "ns/" + strings.Repeat("a", cutObjectName-1) + "-"; !strings.HasPrefix(hashed, cut) || strings.HasPrefix(hashed, cut+"-") {
		t.Errorf("the other is %s", hashed)
	}
	other := wanted{name: w.name, of: "2"}
	if _, o := other.names("ns"); o == hashed {
		t.Errorf("two children are named %s", o)
	}
}
