package deploy

import (
	"context"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/coredns-kuadrant/kuadrant/internal/boottest"
	"github.com/coredns-kuadrant/kuadrant/internal/kubetest"
)

// These are the rights that config/rbac grants: verbs, a resource with its group, and, if limited,
// the namespace and the name of the one object. docs/security.md says what each is for.
var (
	objectRights = []string{
		"list,watch gateways.gateway.networking.k8s.io",
		"list,watch dnspolicies.kuadrant.io",
		"list,watch dnsrecords.kuadrant.io",
		"list,watch dnshealthcheckprobes.kuadrant.io",
		"list,watch zones.kubi.zone",
		"list,watch records.kubi.zone",
		"list,watch dnsendpoints.externaldns.k8s.io",
	}
	secretRights = []string{"get,list,watch secrets"}
	uidRight     = "get namespaces named kube-system"
	pathRights   = []string{"get path /apis", "get path /apis/*", "get path /livez", "get path /readyz"}
	readRights   = slices.Concat(objectRights, secretRights, []string{uidRight}, pathRights)
	writeRights  = []string{
		"patch dnspolicies/status.kuadrant.io",
		"patch dnsrecords/status.kuadrant.io",
		"patch dnshealthcheckprobes/status.kuadrant.io",
		"patch zones/status.kubi.zone",
		"patch records/status.kubi.zone",
		"patch gateways/status.gateway.networking.k8s.io",
		"patch zones.kubi.zone",
		"patch records.kubi.zone",
		"create,delete,patch dnsrecords.kuadrant.io",
		"create,delete,patch dnshealthcheckprobes.kuadrant.io",
		"create,patch events",
		"list leases.coordination.k8s.io named a3f98d6c.kuadrant.io",
		"list leases.coordination.k8s.io named f139389e.kuadrant.io",
	}
	leaseRights = []string{
		"create leases.coordination.k8s.io in kuadrant-dns",
		"get,update leases.coordination.k8s.io in kuadrant-dns named kuadrant-dns",
	}
	keptRights    = []string{"create,list,update,watch configmaps in kuadrant-dns"}
	clusterRights = []string{"list,watch secrets in kuadrant-dns"}
	// variants are the directories of config/rbac.
	variants = map[string][]string{
		"parts/read": slices.Concat(objectRights, []string{uidRight}, pathRights),
		"read-only":  readRights,
		"namespaced": slices.Concat(within("shop", objectRights, secretRights), clusterRights, []string{"get namespaces in kube-system named kube-system"}),
		"full":       slices.Concat(readRights, writeRights, leaseRights, keptRights),
		"remote":     slices.Concat(readRights, writeRights, leaseRights),
	}
)

// within limits rights to a namespace.
func within(namespace string, rights ...[]string) (all []string) {
	for _, r := range slices.Concat(rights...) {
		all = append(all, r+" in "+namespace)
	}
	return all
}

// eachVerb returns a line for each verb, sorted.
func eachVerb(rights []string) (all []string) {
	for _, r := range rights {
		verbs, what, _ := strings.Cut(r, " ")
		for v := range strings.SplitSeq(verbs, ",") {
			all = append(all, v+" "+what)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// rightsOf returns the rules of a role that is bound in a namespace, "" for all, in the form of the
// lists above.
func rightsOf(namespace string, rules ...rbacv1.PolicyRule) (all []string) {
	for _, r := range rules {
		verbs := strings.Join(slices.Sorted(slices.Values(r.Verbs)), ",")
		for _, path := range r.NonResourceURLs {
			all = append(all, verbs+" path "+path)
		}
		for _, group := range r.APIGroups {
			for _, resource := range r.Resources {
				right := verbs + " " + strings.TrimSuffix(resource+"."+group, ".")
				if namespace != "" {
					right += " in " + namespace
				}
				if len(r.ResourceNames) == 0 {
					all = append(all, right)
				}
				for _, name := range r.ResourceNames {
					all = append(all, right+" named "+name)
				}
			}
		}
	}
	return all
}

// kustomized caches kustomize's output by directory.
var kustomized = make(map[string]string)

// kustomize renders a directory.
func kustomize(t testing.TB, dir string) []*unstructured.Unstructured {
	t.Helper()
	if text := kustomized[dir]; text != "" {
		return kubetest.Parse(t, text)
	}
	kustomized[dir] = run(t, ".", "go", "tool", "-modfile=tools/go.tool.mod", "kustomize", "build", dir)
	return kubetest.Parse(t, kustomized[dir])
}

// rolesOf returns the roles and bindings among objects.
func rolesOf(objects []*unstructured.Unstructured) []*unstructured.Unstructured {
	return slices.DeleteFunc(slices.Clone(objects), func(o *unstructured.Unstructured) bool {
		return o.GroupVersionKind().Group != rbacv1.GroupName
	})
}

// grants returns what the roles among objects grant to a ServiceAccount, and checks that all are
// bound to it alone.
func grants(t *testing.T, objects []*unstructured.Unstructured, namespace, account string) (all []string) {
	t.Helper()
	rules, used := make(map[string][]rbacv1.PolicyRule), make(map[string]bool)
	for _, obj := range rolesOf(objects) {
		var r rbacv1.ClusterRole
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, &r); err == nil && len(r.Rules) > 0 {
			rules[obj.GetKind()+" "+obj.GetNamespace()+"/"+obj.GetName()] = r.Rules
		}
	}
	for _, obj := range rolesOf(objects) {
		if !strings.HasSuffix(obj.GetKind(), "Binding") {
			continue
		}
		var b rbacv1.RoleBinding
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, &b); err != nil {
			t.Fatal(err)
		}
		if want := (rbacv1.Subject{Kind: "ServiceAccount", Namespace: namespace, Name: account}); len(b.Subjects) != 1 || b.Subjects[0] != want {
			t.Errorf("%s %s is about %v, want %v", obj.GetKind(), obj.GetName(), b.Subjects, want)
		}
		role := b.RoleRef.Kind + " " + b.Namespace + "/" + b.RoleRef.Name
		if rules[role] == nil {
			t.Errorf("%s %s binds %s, which is not there", obj.GetKind(), obj.GetName(), role)
		}
		used[role] = true
		all = append(all, rightsOf(b.Namespace, rules[role]...)...)
	}
	for role := range rules {
		if !used[role] {
			t.Errorf("%s is bound to nobody", role)
		}
	}
	return eachVerb(all)
}

// TestRightsOfVariants: the files grant exactly the rights in the lists above; so do the overlays.
func TestRightsOfVariants(t *testing.T) {
	for variant, want := range variants {
		if got, want := grants(t, kustomize(t, filepath.Join("config", "rbac", variant)), "kuadrant-dns", "kuadrant-dns"), eachVerb(want); !slices.Equal(got, want) {
			t.Errorf("%s gives\n%s\nwant\n%s", variant, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
	for name, o := range overlays {
		if got, want := grants(t, renderOverlay(t, name).objects, o.namespace, o.account), eachVerb(o.rights); !slices.Equal(got, want) {
			t.Errorf("%s gives\n%s\nwant\n%s", name, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}

// neverRights are rights that no variant may grant: they lead to the rights of others.
var neverRights = []string{
	"escalate,bind clusterroles.rbac.authorization.k8s.io", "escalate,bind roles.rbac.authorization.k8s.io",
	"create,patch,update clusterrolebindings.rbac.authorization.k8s.io", "create,patch,update rolebindings.rbac.authorization.k8s.io",
	"impersonate users", "impersonate groups", "impersonate serviceaccounts", "create serviceaccounts/token",
	"create pods", "create pods/exec", "get pods/log", "create,patch,update deployments.apps", "get nodes/proxy",
	"create,delete,patch,update secrets", "delete,get,patch configmaps", "delete,patch leases.coordination.k8s.io",
	"create,delete,patch,update gateways.gateway.networking.k8s.io", "create,delete,patch,update dnspolicies.kuadrant.io",
	"create,delete,update zones.kubi.zone", "deletecollection,update dnsrecords.kuadrant.io", "update events",
	"create,patch,update validatingwebhookconfigurations.admissionregistration.k8s.io", "patch,update namespaces", "list namespaces",
	"patch,update customresourcedefinitions.apiextensions.k8s.io", "get path /metrics", "get path /logs/*",
}

// TestRightsOnServer asks a real API server what a user with the rights of each variant may do:
// what the lists say, nothing else in any namespace, and none of neverRights.
func TestRightsOnServer(t *testing.T) {
	server := kubetest.Shared(t)
	server.InstallCRDs(t, kubetest.GatewayAPI, kubetest.Kuadrant, kubetest.ExternalDNS)
	namespaces := []string{"shop", "kuadrant-dns", metav1.NamespaceSystem, server.Namespace(t)}
	nobody := clientOf(t, server.User(t, metav1.NamespaceDefault, server.Namespace(t)))
	for variant, rights := range variants {
		t.Run(variant, func(t *testing.T) {
			user := server.Namespace(t)
			config := server.User(t, metav1.NamespaceDefault, user)
			bindTo(t, server, user, kustomize(t, filepath.Join("config", "rbac", variant)), nil)
			client := clientOf(t, config)
			for _, ns := range namespaces {
				everybodys := rightsIn(t, nobody, ns)
				want := slices.Clone(everybodys)
				for _, r := range eachVerb(rights) {
					if before, after, limited := strings.Cut(r, " in "); limited {
						at, name, _ := strings.Cut(after, " ")
						if at != ns {
							continue
						}
						r = strings.TrimSpace(before + " " + name)
					}
					want = append(want, r)
				}
				got, want := eachVerb(append(rightsIn(t, client, ns), everybodys...)), eachVerb(want)
				if !slices.Equal(got, want) {
					t.Errorf("in namespace %s:\n%s\nwant\n%s", ns, strings.Join(got, "\n"), strings.Join(want, "\n"))
				}
			}
			for _, r := range eachVerb(rights) {
				if !allowed(t, client, r) {
					t.Errorf("may not %s", r)
				}
			}
			forbidden := neverRights
			for _, ns := range namespaces[1:] {
				if variant == "namespaced" {
					forbidden = append(forbidden, within(ns, objectRights, []string{"get secrets"})...)
				}
				if variant == "namespaced" && ns != "kuadrant-dns" {
					forbidden = append(forbidden, within(ns, secretRights)...)
				}
				if ns != "kuadrant-dns" {
					forbidden = append(forbidden, within(ns, []string{"get,list,create,update configmaps", "get,create,update leases.coordination.k8s.io"})...)
				}
			}
			for _, r := range eachVerb(append(forbidden, "update leases.coordination.k8s.io in kuadrant-dns named other")) {
				if allowed(t, client, r) {
					t.Errorf("may %s", r)
				}
			}
		})
	}
}

func clientOf(t *testing.T, config *rest.Config) *kubernetes.Clientset {
	t.Helper()
	c, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// rightsIn asks the server for all rights of the client's user in a namespace.
func rightsIn(t *testing.T, client *kubernetes.Clientset, namespace string) (all []string) {
	t.Helper()
	review, err := client.AuthorizationV1().SelfSubjectRulesReviews().Create(t.Context(), &authorizationv1.SelfSubjectRulesReview{
		Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: namespace},
	}, metav1.CreateOptions{})
	if err != nil || review.Status.Incomplete || review.Status.EvaluationError != "" {
		t.Fatalf("review rules: %v, %v", err, review.Status)
	}
	for _, r := range review.Status.ResourceRules {
		all = append(all, rightsOf("", rbacv1.PolicyRule{Verbs: r.Verbs, APIGroups: r.APIGroups, Resources: r.Resources, ResourceNames: r.ResourceNames})...)
	}
	for _, r := range review.Status.NonResourceRules {
		all = append(all, rightsOf("", rbacv1.PolicyRule{Verbs: r.Verbs, NonResourceURLs: r.NonResourceURLs})...)
	}
	return eachVerb(all)
}

// allowed asks the server whether the client's user has a right of one verb.
func allowed(t *testing.T, client *kubernetes.Clientset, right string) bool {
	t.Helper()
	words := strings.Fields(right)
	spec := authorizationv1.SelfSubjectAccessReviewSpec{}
	if words[1] == "path" {
		spec.NonResourceAttributes = &authorizationv1.NonResourceAttributes{Verb: words[0], Path: words[2]}
	} else {
		resource, group, _ := strings.Cut(words[1], ".")
		resource, sub, _ := strings.Cut(resource, "/")
		attributes := &authorizationv1.ResourceAttributes{Verb: words[0], Group: group, Resource: resource, Subresource: sub}
		for rest := words[2:]; len(rest) > 1; rest = rest[2:] {
			switch rest[0] {
			case "in":
				attributes.Namespace = rest[1]
			case "named":
				attributes.Name = rest[1]
			}
		}
		spec.ResourceAttributes = attributes
	}
	review, err := client.AuthorizationV1().SelfSubjectAccessReviews().Create(t.Context(), &authorizationv1.SelfSubjectAccessReview{Spec: spec}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return review.Status.Allowed
}

// bindTo creates the roles and bindings among objects for a user, a ServiceAccount of the namespace
// default, instead of their own subject. It omits the rules for which leave returns true, and waits
// until the server grants the rest.
func bindTo(t testing.TB, server *kubetest.Server, user string, objects []*unstructured.Unstructured, leave func(rights []string) bool) {
	t.Helper()
	roles := rolesOf(objects)
	for _, obj := range roles {
		if subjects, ok, _ := unstructured.NestedSlice(obj.Object, "subjects"); ok {
			for i := range subjects {
				subjects[i] = map[string]any{"kind": "ServiceAccount", "namespace": metav1.NamespaceDefault, "name": user}
			}
			obj.Object["subjects"] = subjects
		}
		if all, ok, _ := unstructured.NestedSlice(obj.Object, "rules"); ok && leave != nil {
			obj.Object["rules"] = slices.DeleteFunc(eachResource(all), func(r any) bool {
				var rule rbacv1.PolicyRule
				if err := runtime.DefaultUnstructuredConverter.FromUnstructured(r.(map[string]any), &rule); err != nil {
					t.Fatal(err)
				}
				return leave(rightsOf("", rule))
			})
		}
		if ns := obj.GetNamespace(); ns != "" {
			boottest.NeedNamespace(t, server, ns)
		}
		resource := server.Resource(t, obj)
		if _, err := resource.Create(t.Context(), obj, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := resource.Delete(context.Background(), obj.GetName(), metav1.DeleteOptions{}); err != nil {
				t.Error(err)
			}
		})
	}
	server.AwaitRights(t, user, roles)
}

// bindLess binds the roles of a variant to a user, without the rules that grant a right; "" keeps
// all. It checks that there is such a rule.
func bindLess(t testing.TB, server *kubetest.Server, user, variant, right string) {
	t.Helper()
	left := 0
	bindTo(t, server, user, kustomize(t, filepath.Join("config", "rbac", variant)), func(rights []string) bool {
		gives := slices.Contains(rights, strings.ReplaceAll(right, " in kuadrant-dns", ""))
		if gives {
			left++
		}
		return gives
	})
	if right != "" && left == 0 {
		t.Fatalf("no rule gives %s", right)
	}
}

// eachResource splits rules into rules with one resource or path each.
func eachResource(rules []any) (all []any) {
	for _, r := range rules {
		rule := r.(map[string]any)
		for _, field := range []string{"resources", "nonResourceURLs"} {
			of, _, _ := unstructured.NestedStringSlice(rule, field)
			for _, one := range of {
				single := maps.Clone(rule)
				single[field] = []any{one}
				all = append(all, single)
			}
		}
	}
	return all
}
