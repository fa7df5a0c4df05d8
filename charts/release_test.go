package charts

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/coredns-kuadrant/kuadrant/internal/kubetest"
)

const zoneObject = `
apiVersion: kubi.zone/v1alpha1
kind: Zone
metadata: {name: z, namespace: kuadrant-dns}
spec: {domainName: example.com., ttl: 300}
`

// olderChart is a copy of the chart as it may have been: its CRD of Zones does not know the field ttl yet.
func olderChart(t *testing.T) string {
	t.Helper()
	dir := copied(t)
	file := filepath.Join(dir, "files", "crds", "kubi.zone_zones.yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	crd := kubetest.Parse(t, string(text))[0]
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	for _, v := range versions {
		path := []string{"schema", "openAPIV3Schema", "properties", "spec", "properties", "ttl"}
		if _, ok, _ := unstructured.NestedMap(v.(map[string]any), path...); !ok {
			t.Fatal("the CRD has no field spec.ttl to leave out")
		}
		unstructured.RemoveNestedField(v.(map[string]any), path...)
	}
	if err := unstructured.SetNestedSlice(crd.Object, versions, "spec", "versions"); err != nil {
		t.Fatal(err)
	}
	writeFile(t, file, asJSON(t, crd))
	return dir
}

// life is a release on a server of its own.
type life struct {
	server *kubetest.Server
	helm   string
}

func (l *life) run(t *testing.T, args ...string) string {
	t.Helper()
	return must(t, l.helm, append(args, "--kubeconfig", l.server.Kubeconfig, "--namespace", "kuadrant-dns")...)
}

// object reads an object of the release's namespace, nil where there is none.
func (l *life) object(t *testing.T, apiVersion, kind, name string) *unstructured.Unstructured {
	t.Helper()
	obj := &unstructured.Unstructured{}
	obj.SetAPIVersion(apiVersion)
	obj.SetKind(kind)
	obj.SetNamespace("kuadrant-dns")
	got, err := l.server.Resource(t, obj).Get(t.Context(), name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// corefile returns the name of the ConfigMap that new pods read their Corefile of. It is there.
func (l *life) corefile(t *testing.T) string {
	t.Helper()
	deploy := l.object(t, "apps/v1", "Deployment", "kuadrant-dns")
	volumes, _, _ := unstructured.NestedSlice(deploy.Object, "spec", "template", "spec", "volumes")
	for _, v := range volumes {
		if name, ok, _ := unstructured.NestedString(v.(map[string]any), "configMap", "name"); ok && strings.Contains(name, "-corefile-") {
			if l.object(t, "v1", "ConfigMap", name) == nil {
				t.Fatalf("pods wait for ConfigMap %s, which there is not", name)
			}
			return name
		}
	}
	t.Fatal("pods read no Corefile")
	return ""
}

// ttl returns the TTL of the Zone as the server keeps it, 0 where it has none.
func (l *life) ttl(t *testing.T) int64 {
	t.Helper()
	ttl, _, _ := unstructured.NestedInt64(l.object(t, "kubi.zone/v1alpha1", "Zone", "z").Object, "spec", "ttl")
	return ttl
}

// applyZone writes the Zone, and tells whether the server knows all its fields.
func (l *life) applyZone(t *testing.T) bool {
	t.Helper()
	obj := kubetest.Parse(t, zoneObject)[0]
	var err error
	waitFor(t, "Zones to be served", func() bool {
		_, err = l.server.Resource(t, obj).Apply(t.Context(), "z", obj, metav1.ApplyOptions{FieldManager: "test", Force: true})
		return !apierrors.IsNotFound(err)
	})
	return err == nil
}

// TestRelease lets each helm install, upgrade, roll back and uninstall a release on a real API server: new CRDs come with an
// upgrade, an old Corefile stays for the pods that still have it, and what people have written outlives the release.
func TestRelease(t *testing.T) {
	for _, helm := range helms {
		t.Run(helm, func(t *testing.T) {
			helmBinary(t, helm)
			l := &life{kubetest.Start(t), helm}
			values := valuesFiles(t)["public"]
			l.run(t, "install", "dns", olderChart(t), "--create-namespace", "-f", values)
			first := l.corefile(t)
			if l.applyZone(t) {
				t.Fatal("the older CRD takes a field that it does not have")
			}

			out := l.run(t, "upgrade", "dns", chart, "-f", values, "--set", "lameduck=20")
			for _, want := range []string{"mode delegatedZone", "dig @ADDRESS example.com NS", "docs/delegation.md", "reads all namespaces, Secrets included; write-back all."} {
				if !strings.Contains(out, want) {
					t.Errorf("the notes lack %q:\n%s", want, out)
				}
			}
			waitFor(t, "the new CRD", func() bool { return l.applyZone(t) })
			if l.ttl(t) != 300 {
				t.Errorf("the new field is %d", l.ttl(t))
			}
			second := l.corefile(t)
			if second == first {
				t.Error("another Corefile is the same ConfigMap")
			}
			if l.object(t, "v1", "ConfigMap", first) == nil {
				t.Error("the Corefile of pods that still run has gone")
			}

			l.run(t, "rollback", "dns", "1")
			if got := l.corefile(t); got != first {
				t.Errorf("rolled back to %s, want %s", got, first)
			}
			l.run(t, "upgrade", "dns", chart, "-f", values, "--set", "lameduck=20")
			if got := l.corefile(t); got != second {
				t.Errorf("upgraded to %s, want %s", got, second)
			}

			l.run(t, "uninstall", "dns")
			if l.object(t, "apps/v1", "Deployment", "kuadrant-dns") != nil {
				t.Error("the Deployment is still there")
			}
			if l.ttl(t) != 300 {
				t.Error("the Zone has gone")
			}
			l.run(t, "install", "dns", chart, "-f", values)
			l.corefile(t)
		})
	}
}

// TestReleaseBesideCRDs: CRDs that somebody else has installed are not taken over by themselves, and can be left out, or taken over where it
// is said. CRDs of others, which objects of the release need, have to be there.
func TestReleaseBesideCRDs(t *testing.T) {
	helmBinary(t, helms[0])
	server := kubetest.Start(t)
	server.InstallCRDs(t, kubetest.Kuadrant)
	values := valuesFiles(t)["public"]
	for _, helm := range helms {
		l := &life{server, helm}
		to := []string{"--kubeconfig", server.Kubeconfig, "--namespace", "kuadrant-dns", "--create-namespace", "-f", values}
		out, err := runHelm(t, helm, append([]string{"install", helm, chart}, to...)...)
		if err == nil || !strings.Contains(out, "CustomResourceDefinition") || !strings.Contains(out, "ownership") {
			t.Errorf("%s: %v\n%s", helm, err, out)
		}
		l.run(t, "install", helm, chart, "--create-namespace", "-f", values, "--set", "crds.install=false")
		l.run(t, "uninstall", helm)
		out, err = runHelm(t, helm, append([]string{"install", helm, chart, "--set", "crds.kuadrant=false"}, to...)...)
		if err == nil || strings.Contains(out, "kuadrant.io\" in") || !strings.Contains(out, "kubi.zone") {
			t.Errorf("%s without the CRDs of kuadrant.io: %v\n%s", helm, err, out)
		}
		for name, kind := range map[string]string{"serviceMonitor": "ServiceMonitor", "prometheusRule": "PrometheusRule"} {
			out, err = runHelm(t, helm, append([]string{"install", helm, chart, "--set", "crds.install=false,metrics." + name + ".enabled=true"}, to...)...)
			if err == nil || !strings.Contains(out, "no matches for kind \""+kind+"\"") {
				t.Errorf("%s without the CRDs of the Prometheus operator: %v\n%s", helm, err, out)
			}
		}
	}
	l := &life{server, helms[0]}
	l.run(t, "install", "dns", chart, "-f", values, "--take-ownership")
	crd := l.object(t, "apiextensions.k8s.io/v1", "CustomResourceDefinition", "zones.kubi.zone")
	if got := crd.GetAnnotations()["meta.helm.sh/release-name"]; got != "dns" {
		t.Errorf("the CRD is that of the release %q", got)
	}
}
