package deploy

import (
	"fmt"
	"path"
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
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
)

// TestHangsTogether: the objects of a release or an overlay agree with one another.
func TestHangsTogether(t *testing.T) {
	eachRendered(t, func(t *testing.T, r *rendered) {
		r.checkSelectors(t)
		r.checkPorts(t)
		r.checkNetwork(t)
		r.checkEnd(t)
		r.checkFiles(t)
		r.checkAccount(t)
		r.checkReplicas(t)
	})
}

// checkSelectors: all pod selectors select the Deployment's pods, by release and component.
func (r *rendered) checkSelectors(t *testing.T) {
	t.Helper()
	selectors := map[string]*metav1.LabelSelector{"Deployment": r.deploy.Spec.Selector}
	for _, budget := range all[policyv1.PodDisruptionBudget](t, r, "PodDisruptionBudget") {
		selectors["PodDisruptionBudget"] = budget.Spec.Selector
	}
	for _, network := range all[networkingv1.NetworkPolicy](t, r, "NetworkPolicy") {
		selectors["NetworkPolicy"] = &network.Spec.PodSelector
	}
	for i, c := range r.pod.TopologySpreadConstraints {
		selectors[fmt.Sprint("spread ", i)] = c.LabelSelector
	}
	for _, service := range all[corev1.Service](t, r, "Service") {
		selectors["Service "+service.Name] = metav1.SetAsLabelSelector(service.Spec.Selector)
	}
	pod, component := labels.Set(r.deploy.Spec.Template.Labels), "public"
	if strings.Contains(r.corefile, "    kubernetes ") {
		component = "cluster-dns"
	}
	for what, selector := range selectors {
		s, err := metav1.LabelSelectorAsSelector(selector)
		if err != nil || !s.Matches(pod) || selector.MatchLabels["app.kubernetes.io/instance"] != r.release ||
			selector.MatchLabels["app.kubernetes.io/component"] != component {
			t.Errorf("%s selects %v (%v), pods have %v", what, selector, err, pod)
		}
	}
	for _, obj := range r.of("ServiceMonitor") {
		selected, _, _ := unstructured.NestedStringMap(obj.Object, "spec", "selector", "matchLabels")
		in, _, _ := unstructured.NestedStringSlice(obj.Object, "spec", "namespaceSelector", "matchNames")
		found := slices.DeleteFunc(r.of("Service"), func(o *unstructured.Unstructured) bool {
			return !slices.Contains(in, o.GetNamespace()) || !labels.SelectorFromSet(selected).Matches(labels.Set(o.GetLabels()))
		})
		if len(found) != 1 || !strings.HasSuffix(found[0].GetName(), "-metrics") {
			t.Errorf("the ServiceMonitor selects %d Services", len(found))
		}
		endpoints, _, _ := unstructured.NestedSlice(obj.Object, "spec", "endpoints")
		for _, e := range endpoints {
			if honors, _, _ := unstructured.NestedBool(e.(map[string]any), "honorLabels"); !honors {
				t.Error("the ServiceMonitor replaces the labels cluster and zone")
			}
		}
	}
}

// checkPorts compares the ports of the Corefile, the container, its probes and the Services.
func (r *rendered) checkPorts(t *testing.T) {
	t.Helper()
	for plugin, name := range map[string]string{"health": "health", "ready": "ready", "prometheus": "metrics", "console": "console"} {
		has := regexp.MustCompile(fmt.Sprintf(`(?m)^ +%s :%d\b`, plugin, r.port(name))).MatchString(r.corefile)
		if has != (r.port(name) != 0) {
			t.Errorf("port %s is %d, and the Corefile has %t for %s", name, r.port(name), has, plugin)
		}
	}
	if live, ready := r.server.LivenessProbe.HTTPGet, r.server.ReadinessProbe.HTTPGet; live.Port.StrVal != "health" || live.Path != "/health" || ready.Port.StrVal != "ready" || ready.Path != "/ready" {
		t.Errorf("probes are %v and %v", live, ready)
	}
	if want := []string{"-conf", "/etc/coredns/Corefile", "-dns.port", fmt.Sprint(r.port("dns-udp"))}; !slices.Equal(r.server.Args, want) || r.port("dns-tcp") != r.port("dns-udp") {
		t.Errorf("arguments %q, want %q", r.server.Args, want)
	}
	for _, service := range all[corev1.Service](t, r, "Service") {
		open := []string{}
		for _, p := range service.Spec.Ports {
			open = append(open, fmt.Sprint(p.Protocol, " ", p.Port, " ", p.TargetPort.StrVal))
			if r.port(p.TargetPort.StrVal) == 0 {
				t.Errorf("Service %s leads to port %s, which there is not", service.Name, p.TargetPort.String())
			}
		}
		// One address has UDP and TCP, and no other port: the page and the metrics are not public.
		if service.Name == r.deploy.Name && !slices.Equal(open, []string{"UDP 53 dns-udp", "TCP 53 dns-tcp"}) {
			t.Errorf("the Service has %q", open)
		} else if service.Name != r.deploy.Name && (len(open) != 1 || service.Spec.Type != corev1.ServiceTypeClusterIP) {
			t.Errorf("Service %s of type %s has %q", service.Name, service.Spec.Type, open)
		}
	}
}

// checkNetwork: DNS is open to everybody, and no other port is.
func (r *rendered) checkNetwork(t *testing.T) {
	t.Helper()
	for _, network := range all[networkingv1.NetworkPolicy](t, r, "NetworkPolicy") {
		open := make(map[string]bool)
		for _, rule := range network.Spec.Ingress {
			for _, p := range rule.Ports {
				if len(rule.From) == 0 {
					open[fmt.Sprint(*p.Protocol, " ", p.Port.IntValue())] = true
				}
			}
		}
		if port := r.port("dns-udp"); len(open) != 2 || !open[fmt.Sprint("UDP ", port)] || !open[fmt.Sprint("TCP ", port)] {
			t.Errorf("open to everybody are %v, want port %d", open, port)
		}
		if len(network.Spec.PolicyTypes) != 2 {
			t.Errorf("it is about %v", network.Spec.PolicyTypes)
		}
	}
}

// checkEnd compares the timing of a pod's shutdown: it answers until lameduck is over, and stays
// ready for as long.
func (r *rendered) checkEnd(t *testing.T) {
	t.Helper()
	var lameduck int64
	if _, err := fmt.Sscanf(regexp.MustCompile(`lameduck (\d+)s`).FindString(r.corefile), "lameduck %ds", &lameduck); err != nil {
		t.Fatal(err)
	}
	grace := int64(30)
	if s := r.pod.TerminationGracePeriodSeconds; s != nil {
		grace = *s
	}
	if grace < lameduck+10 {
		t.Errorf("a pod has %d s to end in, with lameduck of %d s", grace, lameduck)
	}
	if p := r.server.ReadinessProbe; int64(p.PeriodSeconds)*int64(p.FailureThreshold) <= lameduck {
		t.Errorf("a pod is ready for %d×%d s of lameduck's %d s", p.PeriodSeconds, p.FailureThreshold, lameduck)
	}
	// If the pod uses a port of the node, a new pod may have to wait for it.
	own := r.pod.HostNetwork || slices.ContainsFunc(r.server.Ports, func(p corev1.ContainerPort) bool { return p.HostPort > 0 })
	if u := r.deploy.Spec.Strategy; u.Type == appsv1.RecreateDeploymentStrategyType ||
		own != (u.RollingUpdate.MaxSurge.IntValue() == 0) || own != (u.RollingUpdate.MaxUnavailable.IntValue() == 1) {
		t.Errorf("ports of the node are used: %t, and the strategy is %v", own, u.RollingUpdate)
	}
}

// checkFiles: each file that the Corefile names is on a volume, each volume exists and is mounted,
// and only the state is writable.
func (r *rendered) checkFiles(t *testing.T) {
	t.Helper()
	if c := r.server.SecurityContext; c == nil || c.ReadOnlyRootFilesystem == nil || !*c.ReadOnlyRootFilesystem {
		t.Error("the root file system can be written to")
	}
	mounted := make(map[string]bool)
	for _, m := range r.server.VolumeMounts {
		r.volume(t, m.Name)
		mounted[m.Name] = true
		if writable := m.MountPath == "/var/lib/kuadrant"; m.ReadOnly == writable {
			t.Errorf("%s is mounted with readOnly %t", m.MountPath, m.ReadOnly)
		}
	}
	for _, c := range r.pod.InitContainers {
		for _, m := range c.VolumeMounts {
			mounted[m.Name] = true
		}
	}
	for _, v := range r.pod.Volumes {
		if !mounted[v.Name] {
			t.Errorf("volume %s is mounted nowhere", v.Name)
		}
		// A state has at most 1 GiB, and a new one is written beside the old one.
		if e := v.EmptyDir; v.Name == "state" && (e == nil || e.SizeLimit == nil || e.SizeLimit.Value() <= 2<<30) {
			t.Errorf("the state has room for %v", e)
		}
	}
	files := regexp.MustCompile(`(?m)(?:^| )(/(?:etc|var|geo)/[^ \n]+)`).FindAllStringSubmatch(r.corefile, -1)
	for _, f := range files {
		file := f[1]
		if file == "/etc/resolv.conf" {
			continue
		}
		at := slices.IndexFunc(r.server.VolumeMounts, func(m corev1.VolumeMount) bool {
			return m.MountPath == file || m.MountPath == path.Dir(file)
		})
		if at < 0 {
			t.Errorf("%s is on no volume", file)
			continue
		}
		r.checkKey(t, r.volume(t, r.server.VolumeMounts[at].Name), path.Base(file))
	}
	if len(files) == 0 {
		t.Error("the Corefile names no file")
	}
	for name := range mounted {
		if dir := r.mount(name).MountPath; name != "corefile" && !strings.Contains(r.corefile, " "+dir) {
			t.Errorf("%s is mounted at %s, and the Corefile does not name it", name, dir)
		}
	}
}

// checkKey: if a volume lists its keys, or a ConfigMap of the release has them, the file is one of
// them.
func (r *rendered) checkKey(t *testing.T, v corev1.Volume, file string) {
	t.Helper()
	if v.Secret != nil && v.Secret.Items != nil && (len(v.Secret.Items) != 1 || v.Secret.Items[0].Path != file) {
		t.Errorf("the Secret of volume %s has %v, not %s", v.Name, v.Secret.Items, file)
	}
	for _, obj := range r.of("ConfigMap") {
		if v.ConfigMap == nil || obj.GetName() != v.ConfigMap.Name {
			continue
		}
		if text, _, _ := unstructured.NestedString(obj.Object, "data", file); text == "" {
			t.Errorf("ConfigMap %s has no %s", obj.GetName(), file)
		}
	}
}

// checkAccount: the roles are bound to the pods' account, which is created unless it is given.
func (r *rendered) checkAccount(t *testing.T) {
	t.Helper()
	accounts := r.of("ServiceAccount")
	if given := r.pod.ServiceAccountName == "given"; given != (len(accounts) == 0) || !given && accounts[0].GetName() != r.pod.ServiceAccountName {
		t.Errorf("pods run as %s, and there are %d accounts", r.pod.ServiceAccountName, len(accounts))
	}
	if len(grants(t, r.objects, r.namespace, r.pod.ServiceAccountName)) == 0 {
		t.Error("no rights are bound")
	}
}

// checkReplicas: there are more servers than may be missing at once, and the Corefile limits the
// size of UDP answers as docs/security.md says.
func (r *rendered) checkReplicas(t *testing.T) {
	t.Helper()
	for _, budget := range all[policyv1.PodDisruptionBudget](t, r, "PodDisruptionBudget") {
		replicas := int(*r.deploy.Spec.Replicas)
		missing, err := intstr.GetScaledValueFromIntOrPercent(budget.Spec.MaxUnavailable, replicas, true)
		if err != nil || replicas < 2 || missing >= replicas {
			t.Errorf("%d replicas, of which %s may be missing", replicas, budget.Spec.MaxUnavailable)
		}
	}
	if !regexp.MustCompile(`(?m)^ +bufsize 1232$`).MatchString(r.corefile) {
		t.Error("the Corefile lacks `bufsize 1232`")
	}
}

// TestNames: with the longest names of a release and a namespace, the objects' names are still
// valid, to a real API server too, and agree with one another.
func TestNames(t *testing.T) {
	server := judging(t)
	release, namespace := strings.Repeat("r", 53), strings.Repeat("n", 63)
	for _, args := range [][]string{
		nil,
		{"--set", "nameOverride=" + strings.Repeat("o", 63)},
		{"--set", "fullnameOverride=" + strings.Repeat("f", 63)},
		{"--set", "nameOverride=r"},
		{"--set", "nameOverride=" + strings.Repeat("o", 50) + "-" + strings.Repeat("o", 12)},
	} {
		args = append(args, "--set", "console.enabled=true,console.tokenSecret.name=a,nets.text=a,overrides.text=b",
			"--set", "metrics.serviceMonitor.enabled=true,metrics.dashboard.enabled=true")
		r := render(t, helms[0], release, namespace, append(args, least...)...)
		judge(t, server, strings.Join(args, " "), r.objects)
		for _, obj := range r.objects {
			problems := validation.IsDNS1123Subdomain(obj.GetName())
			if group := obj.GroupVersionKind().Group; group == "rbac.authorization.k8s.io" {
				problems = nil
			} else if obj.GetKind() == "Service" || obj.GetKind() == "Deployment" {
				problems = validation.IsDNS1035Label(obj.GetName())
			}
			for _, value := range obj.GetLabels() {
				problems = append(problems, validation.IsValidLabelValue(value)...)
			}
			if len(problems) > 0 {
				t.Errorf("%s %s: %q", obj.GetKind(), obj.GetName(), problems)
			}
		}
		r.checkSelectors(t)
		r.checkPorts(t)
		r.checkFiles(t)
		r.checkAccount(t)
	}
}
