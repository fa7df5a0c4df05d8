package deploy

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/coredns-kuadrant/kuadrant/health"
	"github.com/coredns-kuadrant/kuadrant/internal/boottest"
	"github.com/coredns-kuadrant/kuadrant/internal/kubetest"
)

// overlays are the directories of config/deploy that are applied, each with the
// account that it runs as and what that account may do.
var overlays = map[string]struct {
	namespace, account string
	rights             []string
}{
	"public":      {"kuadrant-dns", "kuadrant-dns", variants["full"]},
	"cluster-dns": {metav1.NamespaceSystem, "kuadrant-dns-cluster", slices.Concat(variants["parts/read"], namesRights)},
}

// namesRights are what the plugin *kubernetes* takes for the cluster's own names.
var namesRights = []string{"list,watch services", "list,watch namespaces", "list,watch endpointslices.discovery.k8s.io"}

// overlay is what an overlay renders.
type overlay struct {
	objects  []*unstructured.Unstructured
	deploy   appsv1.Deployment
	pod      corev1.PodSpec
	server   corev1.Container
	corefile string // as its pods read it
}

func renderOverlay(t *testing.T, name string) *overlay {
	t.Helper()
	o := &overlay{objects: kustomize(t, filepath.Join("config", "deploy", name))}
	o.only(t, "Deployment", &o.deploy)
	o.pod = o.deploy.Spec.Template.Spec
	if len(o.pod.Containers) != 1 {
		t.Fatalf("%d containers", len(o.pod.Containers))
	}
	o.server = o.pod.Containers[0]
	var config corev1.ConfigMap
	o.only(t, "ConfigMap", &config)
	volume := slices.IndexFunc(o.pod.Volumes, func(v corev1.Volume) bool { return v.ConfigMap != nil && v.ConfigMap.Name == config.Name })
	if volume < 0 || o.mount(o.pod.Volumes[volume].Name) != "/etc/coredns" {
		t.Fatalf("ConfigMap %s is not mounted where -conf has its file: %v", config.Name, o.pod.Volumes)
	}
	o.corefile = config.Data["Corefile"]
	return o
}

// only decodes the one object of a kind.
func (o *overlay) only(t *testing.T, kind string, into any) {
	t.Helper()
	found := 0
	for _, obj := range o.objects {
		if obj.GetKind() == kind {
			found++
			if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(obj.Object, into, true); err != nil {
				t.Fatal(err)
			}
		}
	}
	if found != 1 {
		t.Fatalf("%d objects of kind %s", found, kind)
	}
}

// mount returns where a volume is mounted.
func (o *overlay) mount(volume string) string {
	for _, m := range o.server.VolumeMounts {
		if m.Name == volume {
			return m.MountPath
		}
	}
	return ""
}

// port returns the number of a named port.
func (o *overlay) port(name string) int32 {
	for _, p := range o.server.Ports {
		if p.Name == name {
			return p.ContainerPort
		}
	}
	return 0
}

// TestDeployIsAccepted lets a real API server judge everything that kustomize
// renders, and a pod of each Deployment by the standard `restricted`.
func TestDeployIsAccepted(t *testing.T) {
	server := kubetest.Shared(t)
	server.InstallCRDs(t)
	restricted := server.Namespace(t)
	label := kubetest.Parse(t, fmt.Sprintf("{apiVersion: v1, kind: Namespace, metadata: {name: %s, labels: {pod-security.kubernetes.io/enforce: restricted}}}", restricted))[0]
	options := metav1.ApplyOptions{FieldManager: "deploy", Force: true}
	if _, err := server.Resource(t, label).Apply(t.Context(), restricted, label, options); err != nil {
		t.Fatal(err)
	}
	options.DryRun = []string{metav1.DryRunAll}
	dirs := []string{}
	for name := range overlays {
		dirs = append(dirs, filepath.Join("deploy", name))
	}
	for name := range variants {
		dirs = append(dirs, filepath.Join("rbac", name))
	}
	for _, dir := range dirs {
		for _, obj := range kustomize(t, filepath.Join("config", dir)) {
			if ns := obj.GetNamespace(); ns != "" {
				boottest.NeedNamespace(t, server, ns)
			}
			// Server-side apply refuses fields that there are not.
			if _, err := server.Resource(t, obj).Apply(t.Context(), obj.GetName(), obj, options); err != nil {
				t.Errorf("%s: %s %s: %v", dir, obj.GetKind(), obj.GetName(), err)
			}
			if obj.GetKind() != "Deployment" {
				continue
			}
			template, _, _ := unstructured.NestedMap(obj.Object, "spec", "template")
			pod := &unstructured.Unstructured{Object: template}
			pod.SetAPIVersion("v1")
			pod.SetKind("Pod")
			pod.SetName("a")
			pod.SetNamespace(restricted)
			if _, err := server.Resource(t, pod).Apply(t.Context(), pod.GetName(), pod, options); err != nil {
				t.Errorf("%s: a pod: %v", dir, err)
			}
		}
	}
}

// TestDeployImage sets the image in the way that the overlays say.
func TestDeployImage(t *testing.T) {
	program, err := filepath.Abs(strings.TrimSpace(run(t, ".", "go", "tool", "-modfile=tools/go.tool.mod", "-n", "kustomize")))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("config")); err != nil {
		t.Fatal(err)
	}
	for name := range overlays {
		o := filepath.Join(dir, "deploy", name)
		run(t, o, program, "edit", "set", "image", "kuadrant-dns=example/kuadrant:v1")
		if out := run(t, o, program, "build", "."); !strings.Contains(out, "image: example/kuadrant:v1\n") || strings.Contains(out, "image: kuadrant-dns") {
			t.Errorf("%s has another image:\n%s", name, out)
		}
	}
}

// TestDeployRights: the account of each overlay has the rights of a variant, which
// TestRights runs CoreDNS with.
func TestDeployRights(t *testing.T) {
	for name, want := range overlays {
		o := renderOverlay(t, name)
		if o.pod.ServiceAccountName != want.account || o.deploy.Namespace != want.namespace {
			t.Errorf("%s runs as %s in %s, want %s in %s", name, o.pod.ServiceAccountName, o.deploy.Namespace, want.account, want.namespace)
		}
		if got, want := grants(t, o.objects, want.namespace, want.account), eachVerb(want.rights); !slices.Equal(got, want) {
			t.Errorf("%s gives\n%s\nwant\n%s", name, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}

// TestDeployHangsTogether: what different files say of one thing is the same.
func TestDeployHangsTogether(t *testing.T) {
	for name := range overlays {
		t.Run(name, func(t *testing.T) {
			o := renderOverlay(t, name)
			pod := labels.Set(o.deploy.Spec.Template.Labels)
			var budget policyv1.PodDisruptionBudget
			o.only(t, "PodDisruptionBudget", &budget)
			var network networkingv1.NetworkPolicy
			o.only(t, "NetworkPolicy", &network)
			for what, selector := range map[string]*metav1.LabelSelector{
				"Deployment": o.deploy.Spec.Selector, "PodDisruptionBudget": budget.Spec.Selector, "NetworkPolicy": &network.Spec.PodSelector,
				"spread": o.pod.TopologySpreadConstraints[0].LabelSelector,
			} {
				// No more and no less: not the pods of the other overlay.
				if s, err := metav1.LabelSelectorAsSelector(selector); err != nil || !s.Matches(pod) || selector.MatchLabels["app.kubernetes.io/component"] != name {
					t.Errorf("%s selects %v (%v), pods have %v", what, selector, err, pod)
				}
			}
			if replicas := *o.deploy.Spec.Replicas; replicas < 2 || budget.Spec.MaxUnavailable.IntValue() >= int(replicas) {
				t.Errorf("%d replicas, of which %s may be missing", replicas, budget.Spec.MaxUnavailable)
			}
			o.checkPorts(t, &network)
			o.checkEnd(t)
			// docs/security.md: what a forged source address can be sent.
			if !regexp.MustCompile(`(?m)^ +bufsize 1232$`).MatchString(o.corefile) {
				t.Error("the Corefile lacks `bufsize 1232`")
			}
			o.checkFiles(t)
		})
	}
}

// checkPorts compares the ports of the Corefile, the container, its probes and the
// NetworkPolicy.
func (o *overlay) checkPorts(t *testing.T, network *networkingv1.NetworkPolicy) {
	t.Helper()
	for _, plugin := range []string{"health", "ready", "prometheus"} {
		name := strings.Replace(plugin, "prometheus", "metrics", 1)
		if line := fmt.Sprintf("%s :%d", plugin, o.port(name)); !strings.Contains(o.corefile, line) {
			t.Errorf("the Corefile lacks %q", line)
		}
	}
	if live, ready := o.server.LivenessProbe.HTTPGet, o.server.ReadinessProbe.HTTPGet; live.Port.StrVal != "health" || live.Path != "/health" || ready.Port.StrVal != "ready" || ready.Path != "/ready" {
		t.Errorf("probes are %v and %v", live, ready)
	}
	if want := []string{"-conf", "/etc/coredns/Corefile", "-dns.port", fmt.Sprint(o.port("dns-udp"))}; !slices.Equal(o.server.Args, want) || o.port("dns-tcp") != o.port("dns-udp") {
		t.Errorf("arguments %q, want %q", o.server.Args, want)
	}
	open := make(map[string]bool)
	for _, p := range network.Spec.Ingress[0].Ports {
		open[fmt.Sprint(*p.Protocol, " ", p.Port.IntValue())] = true
	}
	if port := o.port("dns-udp"); len(open) != 2 || !open[fmt.Sprint("UDP ", port)] || !open[fmt.Sprint("TCP ", port)] || len(network.Spec.Ingress[0].From) != 0 {
		t.Errorf("open to everybody are %v, want port %d", open, port)
	}
}

// checkEnd compares the times of a pod's end: it answers until lameduck is over, and
// stays ready for as long.
func (o *overlay) checkEnd(t *testing.T) {
	t.Helper()
	var lameduck int64
	if _, err := fmt.Sscanf(regexp.MustCompile(`lameduck (\d+)s`).FindString(o.corefile), "lameduck %ds", &lameduck); err != nil {
		t.Fatal(err)
	}
	grace := int64(30)
	if s := o.pod.TerminationGracePeriodSeconds; s != nil {
		grace = *s
	}
	if grace < lameduck+10 {
		t.Errorf("a pod has %d s to end in, with lameduck of %d s", grace, lameduck)
	}
	if p := o.server.ReadinessProbe; int64(p.PeriodSeconds)*int64(p.FailureThreshold) <= lameduck {
		t.Errorf("a pod is ready for %d×%d s of lameduck's %d s", p.PeriodSeconds, p.FailureThreshold, lameduck)
	}
}

// checkFiles looks for the directories that the Corefile names. Nothing can be written but the state, and
// that goes with the pod.
func (o *overlay) checkFiles(t *testing.T) {
	t.Helper()
	if c := o.server.SecurityContext; c == nil || c.ReadOnlyRootFilesystem == nil || !*c.ReadOnlyRootFilesystem {
		t.Error("the root file system can be written to")
	}
	state := slices.IndexFunc(o.pod.Volumes, func(v corev1.Volume) bool { return v.Name == "state" && v.EmptyDir != nil })
	if state < 0 {
		t.Fatal("no volume `state` is an emptyDir")
	}
	// A state has 1 GiB at most, and a new one is written beside it.
	if limit := o.pod.Volumes[state].EmptyDir.SizeLimit; limit == nil || limit.Value() <= 2<<30 {
		t.Errorf("the state has room for %v", limit)
	}
	for _, m := range o.server.VolumeMounts {
		if writable := m.MountPath == "/var/lib/kuadrant"; m.ReadOnly == writable {
			t.Errorf("%s is mounted with readOnly %t", m.MountPath, m.ReadOnly)
		}
	}
	for volume, line := range map[string]string{"state": "state %s\n", "overrides": "override %s/overrides\n"} {
		if line = fmt.Sprintf(line, o.mount(volume)); !strings.Contains(o.corefile, line) {
			t.Errorf("the Corefile lacks %q", line)
		}
	}
}

// TestDeployService: one address has UDP and TCP, and keeps the client's.
func TestDeployService(t *testing.T) {
	o := renderOverlay(t, "public")
	var service corev1.Service
	o.only(t, "Service", &service)
	got := []string{}
	for _, p := range service.Spec.Ports {
		got = append(got, fmt.Sprint(p.Protocol, " ", p.Port, " ", p.TargetPort.StrVal))
	}
	if want := []string{"UDP 53 dns-udp", "TCP 53 dns-tcp"}; !slices.Equal(got, want) {
		t.Errorf("ports %q, want %q", got, want)
	}
	if service.Spec.ExternalTrafficPolicy != corev1.ServiceExternalTrafficPolicyLocal || !labels.SelectorFromSet(service.Spec.Selector).Matches(labels.Set(o.deploy.Spec.Template.Labels)) {
		t.Errorf("Service %v", service.Spec)
	}
}

// TestDeployEgress: the cluster's DNS gets out to the ports that its text names, and to no other one: it checks nothing.
func TestDeployEgress(t *testing.T) {
	var network networkingv1.NetworkPolicy
	renderOverlay(t, "cluster-dns").only(t, "NetworkPolicy", &network)
	got := []string{}
	for _, rule := range network.Spec.Egress {
		for _, p := range rule.Ports {
			if p.Port == nil || p.EndPort != nil {
				t.Errorf("a rule opens %v", p)
			} else if *p.Protocol == corev1.ProtocolTCP {
				got = append(got, p.Port.String())
			} else if p.Port.String() != "53" {
				t.Errorf("%s %s is open", *p.Protocol, p.Port)
			}
		}
	}
	text, _ := deployDoc(t, "cluster-dns.md")
	told := regexp.MustCompile(`lets the pods out to the ports ([0-9, and]+), and to no other one`).FindStringSubmatch(text)
	if told == nil {
		t.Fatal("the text does not say which ports are open")
	}
	if want := regexp.MustCompile(`\d+`).FindAllString(told[1], -1); len(network.Spec.Egress) != 1 || !slices.Equal(got, want) {
		t.Errorf("open are %q, the text says %q", got, want)
	}
	corefile, err := os.ReadFile("config/deploy/cluster-dns/Corefile")
	if err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`(?m)^\s+probes off$`).Match(corefile) {
		t.Error("it checks targets, and gets to none")
	}
}

// TestDeployNetwork: the public servers cannot reach what checks never go to.
func TestDeployNetwork(t *testing.T) {
	var network networkingv1.NetworkPolicy
	renderOverlay(t, "public").only(t, "NetworkPolicy", &network)
	var closed, denied []string
	for _, peer := range network.Spec.Egress[1].To {
		closed = append(closed, peer.IPBlock.Except...)
	}
	for _, p := range health.DefaultDeny {
		denied = append(denied, p.String())
	}
	if slices.Sort(closed); !slices.Equal(closed, slices.Sorted(slices.Values(denied))) {
		t.Errorf("closed are %q, checks do not go to %q", closed, denied)
	}
}
