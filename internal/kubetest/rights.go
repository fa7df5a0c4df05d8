package kubetest

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// home is the namespace of all users' service accounts.
const home = metav1.NamespaceDefault

// grantedDeadline bounds how long a new role takes to reach the server's own cache, on a busy
// machine.
const grantedDeadline = 30 * time.Second

// User creates a user with the given rights in a namespace, or in all if namespace is "", and
// returns that user's config. The user is a service account with the given name, which must be
// unique; its token lasts an hour. User returns once the server grants the rights.
func (s *Server) User(t testing.TB, namespace, name string, rules ...rbacv1.PolicyRule) *rest.Config {
	t.Helper()
	token, err := s.makeUser(t.Context(), namespace, name, rules)
	if err != nil {
		t.Fatalf("make user %s: %v", name, err)
	}
	config := rest.AnonymousClientConfig(s.Config)
	config.BearerToken = token
	config.QPS = -1
	return config
}

// WriteKubeconfig writes a kubeconfig for a config made by User, and returns its path. It is
// removed with the test.
func WriteKubeconfig(t testing.TB, c *rest.Config) string {
	t.Helper()
	config := clientcmdapi.NewConfig()
	config.Clusters["c"] = &clientcmdapi.Cluster{Server: c.Host, CertificateAuthority: c.CAFile, CertificateAuthorityData: c.CAData}
	config.AuthInfos["u"] = &clientcmdapi.AuthInfo{Token: c.BearerToken}
	config.Contexts["x"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u"}
	config.CurrentContext = "x"
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, file); err != nil {
		t.Fatal(err)
	}
	return file
}

func (s *Server) makeUser(ctx context.Context, namespace, name string, rules []rbacv1.PolicyRule) (string, error) {
	c := s.clients.typed
	if err := s.ensureNamespace(ctx, home); err != nil {
		return "", err
	}
	m := metav1.ObjectMeta{Name: name}
	accounts := c.CoreV1().ServiceAccounts(home)
	if _, err := accounts.Create(ctx, &corev1.ServiceAccount{ObjectMeta: m}, metav1.CreateOptions{}); err != nil {
		return "", err
	}
	if err := bind(ctx, c, namespace, m, rules, rbacv1.Subject{Kind: "ServiceAccount", Namespace: home, Name: name}); err != nil {
		return "", err
	}
	if err := s.waitGranted(ctx, name, namespace, rules); err != nil {
		return "", err
	}
	token, err := accounts.CreateToken(ctx, name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		return "", err
	}
	return token.Status.Token, nil
}

// bind grants the rights to the subject.
func bind(ctx context.Context, c kubernetes.Interface, namespace string, m metav1.ObjectMeta, rules []rbacv1.PolicyRule, to rbacv1.Subject) error {
	opt := metav1.CreateOptions{}
	if namespace == "" {
		_, err := c.RbacV1().ClusterRoles().Create(ctx, &rbacv1.ClusterRole{ObjectMeta: m, Rules: rules}, opt)
		if err != nil {
			return err
		}
		_, err = c.RbacV1().ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{
			ObjectMeta: m, Subjects: []rbacv1.Subject{to},
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: m.Name},
		}, opt)
		return err
	}
	_, err := c.RbacV1().Roles(namespace).Create(ctx, &rbacv1.Role{ObjectMeta: m, Rules: rules}, opt)
	if err != nil {
		return err
	}
	_, err = c.RbacV1().RoleBindings(namespace).Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: m, Subjects: []rbacv1.Subject{to},
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: m.Name},
	}, opt)
	return err
}

// AwaitRights waits until the server grants a user made by User the rights of the roles and
// bindings among objects. They must exist already, and be bound to that user: the server decides by
// a cache that lags by milliseconds. It fails the test if that takes too long.
func (s *Server) AwaitRights(t testing.TB, user string, objects []*unstructured.Unstructured) {
	t.Helper()
	type key struct{ kind, namespace, name string }
	rules := make(map[key][]rbacv1.PolicyRule)
	for _, obj := range objects {
		if kind := obj.GetKind(); kind == "Role" || kind == "ClusterRole" {
			var role rbacv1.ClusterRole // a Role has the same rules
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, &role); err != nil {
				t.Fatal(err)
			}
			rules[key{kind, obj.GetNamespace(), obj.GetName()}] = role.Rules
		}
	}
	for _, obj := range objects {
		if !strings.HasSuffix(obj.GetKind(), "RoleBinding") {
			continue
		}
		kind, _, _ := unstructured.NestedString(obj.Object, "roleRef", "kind")
		name, _, _ := unstructured.NestedString(obj.Object, "roleRef", "name")
		of := key{kind: kind, name: name}
		if kind == "Role" {
			of.namespace = obj.GetNamespace()
		}
		if err := s.waitGranted(t.Context(), user, obj.GetNamespace(), rules[of]); err != nil {
			t.Fatalf("%s %s: %v", obj.GetKind(), obj.GetName(), err)
		}
	}
}

// waitGranted waits until the server grants one of our users the rights in a namespace; "" means
// all.
func (s *Server) waitGranted(ctx context.Context, user, namespace string, rules []rbacv1.PolicyRule) error {
	reviews := s.clients.typed.AuthorizationV1().SubjectAccessReviews()
	for _, spec := range questions(namespace, rules) {
		spec.User = "system:serviceaccount:" + home + ":" + user
		err := wait.PollUntilContextTimeout(ctx, 10*time.Millisecond, grantedDeadline, true, func(ctx context.Context) (bool, error) {
			review, err := reviews.Create(ctx, &authorizationv1.SubjectAccessReview{Spec: spec}, metav1.CreateOptions{})
			if err != nil {
				return false, err
			}
			return review.Status.Allowed, nil
		})
		if err != nil {
			return fmt.Errorf("wait until %s may %s: %w", spec.User, right(spec), err)
		}
	}
	return nil
}

// questions returns the access reviews that test each part of the rules.
func questions(namespace string, rules []rbacv1.PolicyRule) (all []authorizationv1.SubjectAccessReviewSpec) {
	for _, rule := range rules {
		names := rule.ResourceNames
		if len(names) == 0 {
			names = []string{""}
		}
		for _, verb := range rule.Verbs {
			for _, path := range rule.NonResourceURLs {
				all = append(all, authorizationv1.SubjectAccessReviewSpec{
					NonResourceAttributes: &authorizationv1.NonResourceAttributes{Verb: verb, Path: path},
				})
			}
			for _, group := range rule.APIGroups {
				for _, resource := range rule.Resources {
					resource, sub, _ := strings.Cut(resource, "/")
					for _, name := range names {
						all = append(all, authorizationv1.SubjectAccessReviewSpec{
							ResourceAttributes: &authorizationv1.ResourceAttributes{
								Namespace: namespace, Verb: verb, Group: group, Resource: resource, Subresource: sub, Name: name,
							},
						})
					}
				}
			}
		}
	}
	return all
}

// right describes an access review in words.
func right(spec authorizationv1.SubjectAccessReviewSpec) string {
	if n := spec.NonResourceAttributes; n != nil {
		return n.Verb + " " + n.Path
	}
	r := spec.ResourceAttributes
	return fmt.Sprintf("%s %s/%s %q in %q of group %q", r.Verb, r.Resource, r.Subresource, r.Name, r.Namespace, r.Group)
}
