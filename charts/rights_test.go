package charts

import (
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/coredns-kuadrant/kuadrant/internal/kubetest"
)

// kustomized renders a directory of config.
func kustomized(t testing.TB, dir string) []*unstructured.Unstructured {
	t.Helper()
	cmd := exec.Command("go", "tool", "-modfile=tools/go.tool.mod", "kustomize", "build", filepath.Join("config", dir))
	cmd.Dir = kubetest.ModuleRoot()
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("kustomize build config/%s: %v\n%s", dir, err, out)
	}
	return kubetest.Parse(t, string(out))
}

// rulesOf returns the rules of the roles among objects, each with where it holds, sorted. All roles are bound there.
func rulesOf(t testing.TB, objects []*unstructured.Unstructured) (all []string) {
	t.Helper()
	rules := make(map[string][]rbacv1.PolicyRule)
	place := func(kind string, obj *unstructured.Unstructured) string { return kind + " in " + obj.GetNamespace() }
	for _, obj := range objects {
		switch obj.GetKind() {
		case "Role":
			var role rbacv1.Role
			decode(t, obj, &role)
			rules[place("Role", obj)+" "+obj.GetName()] = role.Rules
		case "ClusterRole":
			var role rbacv1.ClusterRole
			decode(t, obj, &role)
			rules[place("ClusterRole", obj)+" "+obj.GetName()] = role.Rules
		}
	}
	for _, obj := range objects {
		if !strings.HasSuffix(obj.GetKind(), "RoleBinding") {
			continue
		}
		to, _, _ := unstructured.NestedString(obj.Object, "roleRef", "name")
		kind := strings.TrimSuffix(obj.GetKind(), "Binding")
		role := place(kind, obj) + " " + to
		if len(rules[role]) == 0 {
			t.Errorf("%s %s binds %s, which has no rules", obj.GetKind(), obj.GetName(), role)
		}
		for _, r := range rules[role] {
			all = append(all, fmt.Sprintf("%s: %v %v %v %v %v", place(kind, obj), r.Verbs, r.APIGroups, r.Resources, r.ResourceNames, r.NonResourceURLs))
		}
		delete(rules, role)
	}
	for _, role := range slices.Sorted(maps.Keys(rules)) {
		t.Errorf("%s is bound nowhere", role)
	}
	slices.Sort(all)
	return all
}

// TestRightsAreThoseOfConfig: with values that mean the same, the chart gives the rules of config/rbac, one by one.
func TestRightsAreThoseOfConfig(t *testing.T) {
	lease := []string{"--set", "lease.name=kuadrant-dns"}
	for _, c := range []struct {
		dir, values string
		args        []string
		less        string // rules with this in them are not given
	}{
		{"rbac/full", "public", lease, ""},
		{"rbac/read-only", "public", []string{"--set", "writeBack=off"}, ""},
		{"rbac/read-only", "no-secrets", nil, "[secrets]"},
		{"rbac/parts/read", "no-secrets", nil, ""},
		{"rbac/namespaced", "namespaced", nil, ""},
		{"rbac/namespaced", "namespaced", []string{"--set", "secrets=false"}, "[secrets]"},
		{"deploy/cluster-dns", "cluster-dns", nil, ""},
		{"deploy/public", "public", nil, ""},
	} {
		want := slices.DeleteFunc(rulesOf(t, kustomized(t, c.dir)), func(r string) bool { return c.less != "" && strings.Contains(r, c.less) })
		got := rulesOf(t, renderFile(t, helms[0], c.values, c.args...).objects)
		if !slices.Equal(got, want) || len(want) == 0 {
			t.Errorf("%s %q gives\n%s\nconfig/%s has\n%s", c.values, c.args, strings.Join(got, "\n"), c.dir, strings.Join(want, "\n"))
		}
	}
}

// TestFewerRights: what values leave out needs no right, and all else is as in config/rbac.
func TestFewerRights(t *testing.T) {
	full := rulesOf(t, kustomized(t, "rbac/full"))
	lease := []string{"--set", "lease.name=kuadrant-dns"}
	for _, c := range []struct {
		values string
		args   []string
		less   []string // parts of the rules that are left out
	}{
		{"public", append(lease, "--set", "writeBack=status"), []string{"[zones records]", "[dnsrecords dnshealthcheckprobes]"}},
		{"public", append(lease, "--set", "kinds={Gateway,DNSPolicy,Zone,Record,DNSRecord,DNSHealthCheckProbe}"), []string{"[secrets]", "[dnsendpoints]"}},
	} {
		want := slices.DeleteFunc(slices.Clone(full), func(r string) bool {
			return slices.ContainsFunc(c.less, func(l string) bool { return strings.Contains(r, l) })
		})
		if len(want) > len(full)-len(c.less) {
			t.Fatalf("nothing is left out by %q", c.less)
		}
		if got := rulesOf(t, renderFile(t, helms[0], c.values, c.args...).objects); !slices.Equal(got, want) {
			t.Errorf("%s %q gives\n%s\nwant\n%s", c.values, c.args, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
	if got := renderFile(t, helms[0], "public", "--set", "rbac.create=false").objects; len(rulesOf(t, got)) > 0 {
		t.Error("rbac.create=false gives rules")
	}
}

// TestNamespacedWritingRights: with `namespaces`, writing needs no more in the whole cluster than to find the Leases of Kuadrant's operators. All
// rules are those of config/rbac/full, less the paths, which no Role can open.
func TestNamespacedWritingRights(t *testing.T) {
	whole := func(rules []string) (all []string) {
		for _, r := range rules {
			_, rule, _ := strings.Cut(r, ": ")
			all = append(all, rule)
		}
		slices.Sort(all)
		return slices.Compact(all)
	}
	got := rulesOf(t, renderFile(t, helms[0], "namespaced-writing", "--set", "lease.name=kuadrant-dns").objects)
	want := slices.DeleteFunc(whole(rulesOf(t, kustomized(t, "rbac/full"))), func(r string) bool { return strings.Contains(r, "/livez") })
	if rules := whole(got); !slices.Equal(rules, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(rules, "\n"), strings.Join(want, "\n"))
	}
	for _, r := range got {
		if strings.HasPrefix(r, "ClusterRole ") && !strings.Contains(r, "[list] [coordination.k8s.io] [leases] [f139389e.kuadrant.io a3f98d6c.kuadrant.io]") {
			t.Errorf("in the whole cluster: %s", r)
		}
		if strings.HasPrefix(r, "Role in kuadrant-dns:") && !strings.Contains(r, "[leases]") && !strings.Contains(r, "[configmaps]") && !strings.Contains(r, "[events]") && !strings.Contains(r, "[list watch] [] [secrets]") {
			t.Errorf("in the namespace of the servers: %s", r)
		}
	}
}
