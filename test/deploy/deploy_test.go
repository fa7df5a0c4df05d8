package deploy

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
)

// TestDeployImage sets the image as the overlays say.
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

// TestDeployService: the address preserves the client's. TestHangsTogether checks its ports.
func TestDeployService(t *testing.T) {
	var service corev1.Service
	renderOverlay(t, "public").only(t, "Service", "kuadrant-dns", &service)
	if policy := service.Spec.ExternalTrafficPolicy; policy != corev1.ServiceExternalTrafficPolicyLocal {
		t.Errorf("externalTrafficPolicy is %q", policy)
	}
}

// TestDeployEgress: the cluster's DNS reaches only the ports that its text names: it checks
// nothing. The public servers reach everything that checks may go to.
func TestDeployEgress(t *testing.T) {
	var network networkingv1.NetworkPolicy
	o := renderOverlay(t, "cluster-dns")
	o.only(t, "NetworkPolicy", "", &network)
	text, _ := deployDoc(t, "cluster-dns.md")
	told := regexp.MustCompile(`lets the pods out to the ports ([0-9, and]+), and to no other one`).FindStringSubmatch(strings.Join(strings.Fields(text), " "))
	if told == nil {
		t.Fatal("the text does not say which ports are open")
	}
	want := []string{"UDP 53"}
	for _, port := range regexp.MustCompile(`\d+`).FindAllString(told[1], -1) {
		want = append(want, "TCP "+port)
	}
	slices.Sort(want)
	if got := out(network.Spec.Egress); len(network.Spec.Egress) != 1 || !slices.Equal(got, want) {
		t.Errorf("open are %q, the text says %q", got, want)
	}
	if !regexp.MustCompile(`(?m)^\s+probes off$`).MatchString(o.corefile) {
		t.Error("it checks targets, and gets to none")
	}
	renderOverlay(t, "public").only(t, "NetworkPolicy", "", &network)
	want = append([]string{"TCP 53", "UDP 53"}, checks...)
	slices.Sort(want)
	if got := out(network.Spec.Egress); !slices.Equal(got, want) {
		t.Errorf("the public servers get out to %q, want %q", got, want)
	}
}
