package deploy

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/coredns-kuadrant/kuadrant/internal/boottest"
	"github.com/coredns-kuadrant/kuadrant/internal/kubetest"
)

const zoneObject = `
apiVersion: kubi.zone/v1alpha1
kind: Zone
metadata: {name: z, namespace: kuadrant-dns}
spec: {domainName: example.com., ttl: 300}
`

// olderChart is a copy of the chart as an older version: its CRD of Zones lacks the field ttl.
func olderChart(t *testing.T) string {
	t.Helper()
	dir := copiedChart(t)
	file := filepath.Join(dir, "files", "crds", "kubi.zone_zones.yaml")
	crd := kubetest.Parse(t, boottest.ReadFile(t, file))[0]
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
	boottest.WriteFile(t, file, asJSON(t, crd))
	return dir
}

// life is a release on its own server.
type life struct {
	server *kubetest.Server
	helm   string
}

func (l *life) run(t *testing.T, args ...string) string {
	t.Helper()
	return must(t, l.helm, append(args, "--kubeconfig", l.server.Kubeconfig, "--namespace", "kuadrant-dns")...)
}

// try runs a helm command that may fail.
func (l *life) try(t *testing.T, args ...string) (string, error) {
	t.Helper()
	return runHelm(t, l.helm, append(args, "--kubeconfig", l.server.Kubeconfig, "--namespace", "kuadrant-dns")...)
}

// shell runs a command in an empty folder, with a kubectl for this server.
func (l *life) shell(t *testing.T, command string) string {
	t.Helper()
	return l.server.Shell(t, t.TempDir(), command)
}

// object reads an object in the release's namespace; nil for none.
func (l *life) object(t *testing.T, apiVersion, kind, name string) *unstructured.Unstructured {
	t.Helper()
	got, err := l.server.Resource(t, boottest.Ref(apiVersion, kind, "kuadrant-dns")).Get(t.Context(), name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// corefile returns the name of the ConfigMap from which new pods read their Corefile, and checks
// that it exists.
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

// ttl returns the TTL of the Zone on the server; 0 for none.
func (l *life) ttl(t *testing.T) int64 {
	t.Helper()
	ttl, _, _ := unstructured.NestedInt64(l.object(t, "kubi.zone/v1alpha1", "Zone", "z").Object, "spec", "ttl")
	return ttl
}

// applyZone writes the Zone, and reports whether the server knows all its fields.
func (l *life) applyZone(t *testing.T) bool {
	t.Helper()
	obj := kubetest.Parse(t, zoneObject)[0]
	var err error
	boottest.WaitFor(t, "Zones to be served", func() bool {
		_, err = l.server.Resource(t, obj).Apply(t.Context(), "z", obj, metav1.ApplyOptions{FieldManager: "test", Force: true})
		return !apierrors.IsNotFound(err)
	})
	return err == nil
}

// TestRelease has each helm install, upgrade, roll back and uninstall a release on a real API
// server. New CRDs come with an upgrade, an old Corefile stays for the pods that use it, and the
// users' objects outlive the release.
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
			boottest.WaitFor(t, "the new CRD", func() bool { return l.applyZone(t) })
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
			l.checkOldCorefiles(t, first, second)
			l.run(t, "upgrade", "dns", chart, "-f", values, "--set", "lameduck=20")
			if got := l.corefile(t); got != second {
				t.Errorf("upgraded to %s, want %s", got, second)
			}
			l.checkByHand(t, values)
			l.checkAutoscaler(t, values)

			l.run(t, "uninstall", "dns")
			if l.object(t, "apps/v1", "Deployment", "kuadrant-dns") != nil {
				t.Error("the Deployment is still there")
			}
			if l.ttl(t) != 300 {
				t.Error("the Zone has gone")
			}
			// The CRDs left behind have the old name.
			args := []string{"install", "ns", chart, "-f", values}
			if out, err := l.try(t, args...); err == nil || !strings.Contains(out, "CustomResourceDefinition") || !strings.Contains(out, `must equal "ns"`) {
				t.Errorf("under another name: %v\n%s", err, out)
			}
			l.run(t, append(args, "--take-ownership")...)
			l.corefile(t)
			if l.ttl(t) != 300 {
				t.Error("the Zone has gone with the old name")
			}
			if helm == "helm3" { // Helm 4 continues such a release as Helm 3 does
				l.helm = "helm"
				args[0] = "upgrade"
				if out, err := l.try(t, append(args, "--force-conflicts")...); err == nil || !strings.Contains(out, "forceConflicts enabled when serverSideApply disabled") {
					t.Errorf("Helm 4 forces conflicts on a release of Helm 3: %v\n%s", err, out)
				}
				l.shell(t, "kubectl -n kuadrant-dns scale deployment kuadrant-dns --replicas=4")
				l.run(t, args...)
			}
		})
	}
}

// checkOldCorefiles: the README's commands print the Corefile in use, which after a rollback is not
// the newest, and all Corefiles, but no other ConfigMap of the release. A rollback restores a
// deleted one.
func (l *life) checkOldCorefiles(t *testing.T, used, other string) {
	t.Helper()
	l.run(t, "upgrade", "dns", chart, "--reuse-values", "--set", "lameduck=20,nets.text=192.0.2.0/24 US,overrides.text=cluster b up,metrics.dashboard.enabled=true")
	l.run(t, "rollback", "dns", "1")
	var commands []string
	for _, line := range strings.Split(readme(t), "\n") {
		if strings.HasPrefix(line, "kubectl ") && (strings.Contains(line, `@.name=="corefile"`) || strings.Contains(line, "corefile=true")) {
			commands = append(commands, line)
		}
	}
	if len(commands) != 2 {
		t.Fatalf("the README has %q", commands)
	}
	if got := l.shell(t, commands[0]); got != used+"\n" {
		t.Errorf("%s prints %q, and %s is in use", commands[0], got, used)
	}
	all := strings.Fields(strings.ReplaceAll(l.shell(t, commands[1]), "configmap/", ""))
	if !slices.Contains(all, used) || !slices.Contains(all, other) || slices.ContainsFunc(all, func(name string) bool { return !strings.Contains(name, "-corefile-") }) {
		t.Errorf("%s prints %q", commands[1], all)
	}
	l.shell(t, "kubectl -n kuadrant-dns delete configmap "+other)
	l.run(t, "rollback", "dns", "2")
	if got := l.corefile(t); got != other {
		t.Errorf("rolled back to %s, want %s", got, other)
	}
}

// checkByHand: after a manual change, Helm 4 refuses the next upgrade and rollback until it is told
// which version wins; Helm 3 overwrites the change.
func (l *life) checkByHand(t *testing.T, values string) {
	t.Helper()
	upgrade := []string{"upgrade", "dns", chart, "-f", values, "--set", "lameduck=20"}
	want := l.corefile(t)
	// `kubectl rollout undo` does this: it sets the template of an older ReplicaSet.
	deploy := l.object(t, "apps/v1", "Deployment", "kuadrant-dns")
	patch := `[{"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": "registry.example/kuadrant:v0"}]`
	if _, err := l.server.Resource(t, deploy).Patch(t.Context(), deploy.GetName(), types.JSONPatchType, []byte(patch), metav1.PatchOptions{FieldManager: "kubectl-rollout"}); err != nil {
		t.Fatal(err)
	}
	l.refused(t, `conflict with "kubectl-rollout"`, "rollback", "dns", "1")
	l.refused(t, `conflict with "kubectl-rollout"`, upgrade...)
	l.run(t, append(upgrade, l.forced()...)...)
	if text := asJSON(t, l.object(t, "apps/v1", "Deployment", "kuadrant-dns")); strings.Contains(text, "kuadrant:v0\"") || l.corefile(t) != want {
		t.Errorf("after the upgrade the Deployment is %s", text)
	}

	overrides := func() string {
		text, _, _ := unstructured.NestedString(l.object(t, "v1", "ConfigMap", "kuadrant-dns-overrides").Object, "data", "overrides")
		return strings.TrimSpace(text)
	}
	byHand := "printf '%s\\n' 'cluster b down' > overrides && kubectl -n kuadrant-dns create configmap kuadrant-dns-overrides --from-file=overrides --dry-run=client -o yaml | kubectl -n kuadrant-dns apply -f -"
	health := boottest.ReadFile(t, "docs/health.md")
	if got := l.shell(t, regexp.MustCompile(`(?m)^kubectl .*@\.name=="overrides".*$`).FindString(health)); got != "kuadrant-dns-overrides\n" {
		t.Errorf("docs/health.md has a command that prints %q", got)
	}
	l.shell(t, byHand)
	l.run(t, upgrade...)
	if got := overrides(); got != "cluster b down" {
		t.Errorf("an upgrade without overrides.text makes %q of what was made by hand", got)
	}
	upgrade = append(upgrade, "--set", "overrides.text=cluster b up")
	if out, err := l.try(t, upgrade...); err == nil || !strings.Contains(out, "exists and cannot be imported") {
		t.Errorf("with a ConfigMap made by hand: %v\n%s", err, out)
	}
	l.run(t, slices.Concat(upgrade, []string{"--take-ownership"}, l.forced())...)
	if got := overrides(); got != "cluster b up" {
		t.Errorf("taken over, it has %q", got)
	}
	l.shell(t, byHand)
	l.refused(t, `conflict with "kubectl-client-side-apply"`, upgrade...)
	l.run(t, append(upgrade, l.forced()...)...)
	if got := overrides(); got != "cluster b up" {
		t.Errorf("after the upgrade it has %q", got)
	}
	l.run(t, "upgrade", "dns", chart, "-f", values, "--set", "lameduck=20")
	if l.object(t, "v1", "ConfigMap", "kuadrant-dns-overrides") != nil {
		t.Error("without overrides.text it is still there")
	}
}

// checkAutoscaler: with `replicas: null` an upgrade leaves the number of servers to the autoscaler.
// A rollback restores the older revision's number, which Helm 4 refuses if it has changed since.
func (l *life) checkAutoscaler(t *testing.T, values string) {
	t.Helper()
	kept := func(want int64) {
		t.Helper()
		if n, _, _ := unstructured.NestedInt64(l.object(t, "apps/v1", "Deployment", "kuadrant-dns").Object, "spec", "replicas"); n != want {
			t.Errorf("%d replicas, and %d were there", n, want)
		}
	}
	// Nothing has scaled yet when the value is set.
	l.run(t, append([]string{"upgrade", "dns", chart, "-f", values, "--set", "replicas=3"}, l.forced()...)...)
	l.run(t, "upgrade", "dns", chart, "-f", values, "--set", "replicas=null")
	kept(3)
	for _, n := range []int64{4, 9} {
		l.shell(t, fmt.Sprintf("kubectl -n kuadrant-dns scale deployment kuadrant-dns --replicas=%d", n))
		l.run(t, "upgrade", "dns", chart, "-f", values, "--set", fmt.Sprintf("replicas=null,lameduck=%d", 20+n))
		kept(n)
	}
	// A rollback has no such choice: it writes what was rendered for the older revision.
	older := l.revision(t) - 1
	l.shell(t, "kubectl -n kuadrant-dns scale deployment kuadrant-dns --replicas=5")
	l.refused(t, `conflict with "kubectl" with subresource "scale"`, "rollback", "dns")
	if l.helm == "helm" && l.revision(t) != older+2 {
		t.Errorf("after a rollback that was refused the revision is %d: what the README says of it is wrong", l.revision(t))
	}
	l.run(t, append([]string{"rollback", "dns", strconv.Itoa(older)}, l.forced()...)...)
	kept(4)
	l.shell(t, "kubectl -n kuadrant-dns scale deployment kuadrant-dns --replicas=5")
	l.run(t, "upgrade", "dns", chart, "-f", values, "--set", "replicas=null")
	kept(5)
}

// revision returns the number of the newest revision, successful or not.
func (l *life) revision(t *testing.T) int {
	t.Helper()
	var all []struct{ Revision int }
	if err := json.Unmarshal([]byte(l.run(t, "history", "dns", "--max", "1", "-o", "json")), &all); err != nil || len(all) != 1 {
		t.Fatalf("the history has %v: %v", all, err)
	}
	return all[0].Revision
}

// forced returns the flags with which the chart's version wins.
func (l *life) forced() []string {
	if l.helm == "helm3" {
		return nil // it has none, and always overwrites
	}
	return []string{"--force-conflicts"}
}

// refused checks that Helm 4 refuses. It skips Helm 3.
func (l *life) refused(t *testing.T, why string, args ...string) {
	t.Helper()
	if l.helm == "helm3" {
		return
	}
	if out, err := l.try(t, args...); err == nil || !strings.Contains(out, "conflict occurred while applying object") || !strings.Contains(out, why) {
		t.Errorf("%s: %v, without %q\n%s", strings.Join(args, " "), err, why, out)
	}
}

// TestReleaseFromConfigDeploy: the README's steps for users of config/deploy install the chart next
// to it, behind the existing Service, with the Lease of the old servers.
func TestReleaseFromConfigDeploy(t *testing.T) {
	section := sectionOf(t, "From config/deploy, or under another name")
	values := regexp.MustCompile(`(?s)~~~ yaml\n(.*?)~~~`).FindStringSubmatch(section)
	lines := regexp.MustCompile(`(?m)^helm install dns \S+ (.*?)(?: +#.*)?$`).FindStringSubmatch(section)
	deletes := regexp.MustCompile(`(?m)^kubectl -n kuadrant-dns delete (\S+) kuadrant-dns$`).FindStringSubmatch(section)
	if values == nil || lines == nil || deletes == nil {
		t.Fatalf("the README has %q, %q and %q", values, lines, deletes)
	}
	old := renderOverlay(t, "public")
	for _, helm := range helms {
		t.Run(helm, func(t *testing.T) {
			helmBinary(t, helm)
			l := &life{kubetest.Start(t), helm}
			l.shell(t, "kubectl apply -f "+moduleDir(t)+"config/crd && kubectl apply -k "+moduleDir(t)+"config/deploy/public")
			text, flags := written(t, values[1]), strings.Fields(lines[1])
			flags[slices.Index(flags, "values.yaml")] = text
			must(t, helm, slices.Concat([]string{"install", "dns", chart, "--kubeconfig", l.server.Kubeconfig}, flags, least)...)

			r := render(t, helm, "dns", "kuadrant-dns", append([]string{"-f", text}, least...)...)
			if leases, name := r.lease(t, l.server); leases == nil || name != "kuadrant-dns" || !strings.Contains(r.corefile, "lease kuadrant-dns/kuadrant-dns\n") {
				t.Errorf("the Corefile is\n%s", r.corefile)
			}
			var service corev1.Service
			old.only(t, "Service", "", &service)
			for _, port := range service.Spec.Ports {
				if r.port(port.TargetPort.StrVal) == 0 {
					t.Errorf("the old Service leads to port %s, which there is not", port.TargetPort.StrVal)
				}
			}
			if !labels.SelectorFromSet(service.Spec.Selector).Matches(labels.Set(r.deploy.Spec.Template.Labels)) || len(service.Spec.Selector) == 0 {
				t.Errorf("the old Service selects %v, pods have %v", service.Spec.Selector, r.deploy.Spec.Template.Labels)
			}
			if !strings.Contains(section, "deployment/"+r.deploy.Name+" ") {
				t.Errorf("the README does not name the Deployment %s", r.deploy.Name)
			}
			l.shell(t, "kubectl -n kuadrant-dns delete "+deletes[1]+" kuadrant-dns && kubectl delete -k "+moduleDir(t)+"config/rbac/full")
			if l.object(t, "v1", "Service", "kuadrant-dns") == nil || l.object(t, "apps/v1", "Deployment", r.deploy.Name) == nil || l.object(t, "apps/v1", "Deployment", "kuadrant-dns") != nil {
				t.Error("of the Service and the Deployments, others have gone than those of the old servers")
			}
		})
	}
}

// sectionOf returns a section of the README.
func sectionOf(t *testing.T, title string) string {
	t.Helper()
	_, section, ok := strings.Cut(readme(t), "\n## "+title+"\n")
	if !ok {
		t.Fatalf("the README has no section %q", title)
	}
	section, _, _ = strings.Cut(section, "\n## ")
	return section
}

// TestReleaseBesideCRDs: the chart does not take over CRDs that others have installed, unless told
// to, and can leave them out. Third-party CRDs that the release's objects need must exist.
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
