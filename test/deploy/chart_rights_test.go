package deploy

import (
	"slices"
	"strings"
	"testing"
)

// without returns rights except those that contain one of the words.
func without(rights []string, words ...string) []string {
	return slices.DeleteFunc(slices.Clone(rights), func(r string) bool {
		return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(r, word) })
	})
}

// TestChartRights: with equivalent values, the chart grants the rights of config/; features that
// are off need no rights.
func TestChartRights(t *testing.T) {
	for _, c := range []struct {
		values, set string
		want        []string
	}{
		{"public", "lease.name=kuadrant-dns", variants["full"]},
		{"public", "writeBack=off", variants["read-only"]},
		{"no-secrets", "", without(variants["read-only"], "secrets")},
		{"no-secrets", "", variants["parts/read"]},
		{"namespaced", "", variants["namespaced"]},
		{"namespaced", "secrets=false", without(variants["namespaced"], "secrets")},
		{"cluster-dns", "", overlays["cluster-dns"].rights},
		{"public", "", overlays["public"].rights},
		{
			"public", "lease.name=kuadrant-dns,writeBack=status",
			without(variants["full"], "patch zones.", "patch records.", "create,delete,patch dns"),
		},
		{
			"public", "lease.name=kuadrant-dns,kinds={Gateway,DNSPolicy,Zone,Record,DNSRecord,DNSHealthCheckProbe}",
			without(variants["full"], "secrets", "dnsendpoints"),
		},
		{"public", "rbac.create=false", nil},
	} {
		r := renderFile(t, helms[0], c.values, "--set", c.set)
		got, want := grants(t, r.objects, r.namespace, r.pod.ServiceAccountName), eachVerb(c.want)
		if !slices.Equal(got, want) {
			t.Errorf("%s with %q gives\n%s\nwant\n%s", c.values, c.set, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}

// TestNamespacedWritingRights: with `namespaces`, writing needs cluster-wide only the right to find
// the Leases of Kuadrant's operators. The rights equal those of config/rbac/full, without the
// paths, which no Role can grant.
func TestNamespacedWritingRights(t *testing.T) {
	anywhere := func(rights []string) (all []string) {
		for _, r := range rights {
			what, rest, _ := strings.Cut(r, " in ")
			if _, named, ok := strings.Cut(rest, " named "); ok {
				what += " named " + named
			}
			all = append(all, what)
		}
		return eachVerb(all)
	}
	r := renderFile(t, helms[0], "namespaced-writing", "--set", "lease.name=kuadrant-dns")
	got := grants(t, r.objects, r.namespace, r.pod.ServiceAccountName)
	if rights, want := anywhere(got), anywhere(without(variants["full"], "get path ")); !slices.Equal(rights, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(rights, "\n"), strings.Join(want, "\n"))
	}
	home := eachVerb(append(slices.Concat(leaseRights, keptRights, clusterRights), "create,patch events in kuadrant-dns"))
	for _, right := range got {
		if !strings.Contains(right, " in ") && !strings.HasPrefix(right, "list leases.coordination.k8s.io named ") {
			t.Errorf("in the whole cluster: %s", right)
		}
		if strings.Contains(right, " in kuadrant-dns") && !slices.Contains(home, right) {
			t.Errorf("in the namespace of the servers: %s", right)
		}
	}
}
