package deploy

import (
	"slices"
	"strings"
	"testing"
)

// podMonitor has the fields of config/observability/podmonitor.yaml that tests read.
type podMonitor struct {
	Spec struct {
		NamespaceSelector struct{ MatchNames []string }
		Selector          struct{ MatchLabels map[string]string }
		JobLabel          string
		Endpoints         []struct {
			Port, Path  string
			HonorLabels bool
		} `json:"podMetricsEndpoints"`
	}
}

// scrapeConfig has the fields of config/observability/scrape.yaml that tests read.
type scrapeConfig struct {
	Configs []struct {
		HonorLabels bool `json:"honor_labels"`
		Discoveries []struct {
			Role       string
			Namespaces struct{ Names []string }
		} `json:"kubernetes_sd_configs"`
		Relabel []struct {
			Sources []string `json:"source_labels"`
			Target  string   `json:"target_label"`
			Regex   string
			Action  string
		} `json:"relabel_configs"`
	} `json:"scrape_configs"`
}

// metaLabel returns the name that Prometheus's service discovery gives to a pod label.
func metaLabel(name string) string {
	return "__meta_kubernetes_pod_label_" + strings.NewReplacer(".", "_", "/", "_", "-", "_").Replace(name)
}

// TestObservabilityFinds: the PodMonitor and the scrape configuration find the metrics of all of
// config/deploy, each as a separate job.
func TestObservabilityFinds(t *testing.T) {
	var m podMonitor
	readYAML(t, "config/observability/podmonitor.yaml", &m)
	if len(m.Spec.Endpoints) != 1 || len(m.Spec.Selector.MatchLabels) != 1 {
		t.Fatalf("%+v", m.Spec)
	}
	end, jobs := m.Spec.Endpoints[0], make(map[string]bool)
	if end.Path != "/metrics" || !end.HonorLabels {
		t.Errorf("%+v", end)
	}
	for dir := range overlays {
		d := renderOverlay(t, dir).deploy
		pod := d.Spec.Template
		if !slices.Contains(m.Spec.NamespaceSelector.MatchNames, d.Namespace) {
			t.Errorf("%s is in the namespace %s, which is not among %q", dir, d.Namespace, m.Spec.NamespaceSelector.MatchNames)
		}
		for name, value := range m.Spec.Selector.MatchLabels {
			if pod.Labels[name] != value {
				t.Errorf("%s: %s is %q, and %q is looked for", dir, name, pod.Labels[name], value)
			}
		}
		job := pod.Labels[m.Spec.JobLabel]
		if job == "" || jobs[job] {
			t.Errorf("%s: the job is %q, among others %v", dir, job, jobs)
		}
		jobs[job] = true
		found := 0
		for _, p := range pod.Spec.Containers[0].Ports {
			if p.Name == end.Port && p.ContainerPort == 9153 {
				found++
			}
		}
		if found != 1 {
			t.Errorf("%s: %d ports 9153 are called %s: %v", dir, found, end.Port, pod.Spec.Containers[0].Ports)
		}
	}
	checkScrapeConfig(t, &m)
}

// checkScrapeConfig checks that scrape.yaml matches the PodMonitor.
func checkScrapeConfig(t *testing.T, m *podMonitor) {
	t.Helper()
	const file = "config/observability/scrape.yaml"
	var c scrapeConfig
	readYAML(t, file, &c)
	if len(c.Configs) != 1 || len(c.Configs[0].Discoveries) != 1 {
		t.Fatalf("%+v", c)
	}
	one, selected := c.Configs[0], m.Spec.Selector.MatchLabels
	if in := one.Discoveries[0]; !one.HonorLabels || in.Role != "pod" || !slices.Equal(in.Namespaces.Names, m.Spec.NamespaceSelector.MatchNames) {
		t.Errorf("%+v", one)
	}
	kept, job := false, false
	for _, r := range one.Relabel {
		for name, value := range selected {
			kept = kept || r.Action == "keep" && r.Regex == value+";"+m.Spec.Endpoints[0].Port &&
				slices.Equal(r.Sources, []string{metaLabel(name), "__meta_kubernetes_pod_container_port_name"})
		}
		job = job || r.Target == "job" && slices.Equal(r.Sources, []string{metaLabel(m.Spec.JobLabel)})
	}
	if !kept || !job {
		t.Errorf("the same pods are kept: %v, with the same job: %v: %+v", kept, job, one.Relabel)
	}
	if out, err := promtool(t, "check", "config", "--syntax-only", file); err != nil {
		t.Errorf("check config: %v\n%s", err, out)
	}
}
