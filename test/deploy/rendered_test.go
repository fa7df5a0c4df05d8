package deploy

import (
	"path/filepath"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// overlays are the directories of config/deploy to apply, each with its account and that account's
// rights.
var overlays = map[string]struct {
	namespace, account string
	rights             []string
}{
	"public":      {"kuadrant-dns", "kuadrant-dns", variants["full"]},
	"cluster-dns": {metav1.NamespaceSystem, "kuadrant-dns-cluster", slices.Concat(variants["parts/read"], namesRights)},
}

// namesRights are the rights that the plugin *kubernetes* uses for the cluster's own names.
var namesRights = []string{"list,watch services", "list,watch namespaces", "list,watch endpointslices.discovery.k8s.io"}

// rendered is helm's output for a set of values, or kustomize's for an overlay, which has no
// release.
type rendered struct {
	release, namespace string
	objects            []*unstructured.Unstructured
	deploy             appsv1.Deployment
	pod                corev1.PodSpec
	server             corev1.Container
	corefile           string // as the pods read it
}

func newRendered(t testing.TB, release, namespace string, objects []*unstructured.Unstructured) *rendered {
	t.Helper()
	r := &rendered{release: release, namespace: namespace, objects: objects}
	if r.only(t, "Deployment", "", &r.deploy); r.deploy.Namespace != namespace {
		t.Errorf("the Deployment is in the namespace %q, want %q", r.deploy.Namespace, namespace)
	}
	r.pod = r.deploy.Spec.Template.Spec
	for _, c := range r.pod.Containers {
		if c.Name == "coredns" {
			r.server = c
		}
	}
	volume := r.volume(t, "corefile")
	if volume.ConfigMap == nil || r.mount("corefile").MountPath != "/etc/coredns" {
		t.Fatalf("no ConfigMap is mounted where -conf has its file: %v", volume)
	}
	var config corev1.ConfigMap
	r.only(t, "ConfigMap", volume.ConfigMap.Name, &config)
	r.corefile = config.Data["Corefile"]
	return r
}

func renderOverlay(t testing.TB, name string) *rendered {
	t.Helper()
	return newRendered(t, "", overlays[name].namespace, kustomize(t, filepath.Join("config", "deploy", name)))
}

// eachRendered runs a test for each overlay, and for each set of values.
func eachRendered(t *testing.T, test func(*testing.T, *rendered)) {
	for name := range overlays {
		t.Run("overlay "+name, func(t *testing.T) { test(t, renderOverlay(t, name)) })
	}
	for values := range valuesFiles(t) {
		t.Run(values, func(t *testing.T) { test(t, renderFile(t, helms[0], values)) })
	}
}

// of returns the objects of a kind.
func (r *rendered) of(kind string) (objects []*unstructured.Unstructured) {
	for _, obj := range r.objects {
		if obj.GetKind() == kind {
			objects = append(objects, obj)
		}
	}
	return objects
}

// all decodes the objects of a kind.
func all[T any](t testing.TB, r *rendered, kind string) (decoded []T) {
	t.Helper()
	for _, obj := range r.of(kind) {
		var one T
		decode(t, obj, &one)
		decoded = append(decoded, one)
	}
	return decoded
}

// only decodes the one object of a kind, with a name unless that is "".
func (r *rendered) only(t testing.TB, kind, name string, into any) {
	t.Helper()
	found := slices.DeleteFunc(r.of(kind), func(o *unstructured.Unstructured) bool { return name != "" && o.GetName() != name })
	if len(found) != 1 {
		t.Fatalf("%d objects of kind %s with the name %q", len(found), kind, name)
	}
	decode(t, found[0], into)
}

// decode decodes an object. Unknown fields are errors.
func decode(t testing.TB, obj *unstructured.Unstructured, into any) {
	t.Helper()
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(obj.Object, into, true); err != nil {
		t.Fatalf("%s %s: %v", obj.GetKind(), obj.GetName(), err)
	}
}

func (r *rendered) volume(t testing.TB, name string) corev1.Volume {
	t.Helper()
	at := slices.IndexFunc(r.pod.Volumes, func(v corev1.Volume) bool { return v.Name == name })
	if at < 0 {
		t.Fatalf("there is no volume %q", name)
	}
	return r.pod.Volumes[at]
}

// mount returns where a volume is mounted in the server's container.
func (r *rendered) mount(volume string) corev1.VolumeMount {
	for _, m := range r.server.VolumeMounts {
		if m.Name == volume {
			return m
		}
	}
	return corev1.VolumeMount{}
}

// port returns the number of a named port; 0 for none.
func (r *rendered) port(name string) int32 {
	for _, p := range r.server.Ports {
		if p.Name == name {
			return p.ContainerPort
		}
	}
	return 0
}
