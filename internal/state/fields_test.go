package state

import (
	"maps"
	"reflect"
	"slices"
	"testing"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// TestEveryFieldOfCluster: every field of api.Cluster is either written or listed here as one that each run starts
// afresh.
func TestEveryFieldOfCluster(t *testing.T) {
	written := []string{"Name", "UID", "Listings", "ListedIn", "Pools", "Group"}
	anew := []string{"Epoch", "Changed", "Inferred"}
	trees := 0
	for _, f := range reflect.VisibleFields(reflect.TypeFor[api.Cluster]()) {
		switch {
		case slices.Contains(written, f.Name), slices.Contains(anew, f.Name):
		case f.Type.Kind() == reflect.Struct && f.Type.PkgPath() == reflect.TypeOf(api.Cluster{}.Gateways).PkgPath():
			trees++ // api.Cluster.All yields it: there is one for each kind
		default:
			t.Errorf("api.Cluster.%s is not written: write it in clusterLine, or say here that a run begins it anew", f.Name)
		}
	}
	if trees != int(api.NumKinds) {
		t.Errorf("%d trees, %d kinds", trees, api.NumKinds)
	}
}

// TestEveryFieldOfKept: every field of owners and serials survives a round trip.
func TestEveryFieldOfKept(t *testing.T) {
	var owner api.Owner
	var kept api.Kept
	for _, v := range []reflect.Value{reflect.ValueOf(&owner).Elem(), reflect.ValueOf(&kept).Elem()} {
		for i := range v.NumField() {
			switch f := v.Field(i); f.Kind() {
			case reflect.String:
				f.SetString("text")
			case reflect.Bool:
				f.SetBool(true)
			case reflect.Uint8, reflect.Uint32:
				f.SetUint(3)
			case reflect.Int64:
				f.SetInt(3)
			default:
				t.Errorf("%s.%s is a %s", v.Type(), v.Type().Field(i).Name, f.Type())
			}
		}
	}
	c := full(t)
	c.Owners = maps.All(map[string]api.Owner{"a.": owner})
	dir := t.TempDir()
	write(t, dir, c)
	got, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := WriteSerials(dir, c.Written, Serials{"a.": kept}); err != nil {
		t.Fatal(err)
	}
	if serials, err := ReadSerials(dir); err != nil || !maps.Equal(serials, Serials{"a.": kept}) {
		t.Errorf("read %v, %v, written %v", serials, err, kept)
	}
	if !reflect.DeepEqual(flat(got), flat(c)) {
		t.Errorf("read %v, written %v", maps.Collect(got.Owners), owner)
	}
}
