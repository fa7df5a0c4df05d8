package deploy

import (
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/miekg/dns"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/coredns-kuadrant/kuadrant/internal/boottest"
	"github.com/coredns-kuadrant/kuadrant/internal/peertest"
)

// scrapeOf reads what a server exports, as Prometheus does.
func scrapeOf(t *testing.T, addr string) model.Vector {
	t.Helper()
	resp, err := http.Get("http://" + addr + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	all, err := expfmt.ExtractSamples(new(expfmt.DecodeOptions), slices.Collect(maps.Values(families))...)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// has reports whether the selector matches a sample. It ignores labels of the scrape, and those
// that the dashboard's variables choose.
func (s *queriedSelector) has(all model.Vector) bool {
	return slices.ContainsFunc(all, func(one *model.Sample) bool {
		found := string(one.Metric[model.MetricNameLabel]) == s.Metric
		for _, m := range s.Matchers {
			value := string(one.Metric[model.LabelName(m.Label)])
			switch {
			case strings.Contains(m.Value, "$") || !found:
			case m.Type == "=~":
				found = regexp.MustCompile(`^(?:` + m.Value + `)$`).MatchString(value)
			case m.Type == "!=":
				found = value != m.Value
			default:
				found = m.Type == "=" && value == m.Value
			}
		}
		return found
	})
}

// unscraped are the metrics that a server without an API server and without secondaries does not
// export.
var unscraped = map[string]string{
	"coredns_kuadrant_leader":                "nothing is written back with manifests",
	"coredns_kuadrant_write_backlog":         "nothing is written back with manifests",
	"coredns_kuadrant_unregistered_names":    "nothing is written back with manifests",
	"coredns_kuadrant_notify_failures_total": "there is no secondary",
	"up":                                     "Prometheus makes it",
	"ALERTS":                                 "Prometheus makes it",
}

// longChain is a name with more CNAMEs than are followed, which gives SERVFAIL.
func longChain() string {
	var b strings.Builder
	b.WriteString("apiVersion: externaldns.k8s.io/v1alpha1\nkind: DNSEndpoint\nmetadata: {name: long, namespace: docs}\nspec:\n  endpoints:\n")
	for i := range 20 {
		fmt.Fprintf(&b, "  - {dnsName: c%d.apps.zone.example.org, recordType: CNAME, targets: [c%d.apps.zone.example.org]}\n", i, i+1)
	}
	return b.String()
}

// startScraped starts Corefile.example with metrics and a state, and with targets where nobody
// listens.
func startScraped(t *testing.T) (server, metrics string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "examples"), os.DirFS("examples")); err != nil {
		t.Fatal(err)
	}
	for _, cluster := range []string{"eu", "na"} {
		file := filepath.Join(dir, "examples", cluster, "checked.yaml")
		boottest.ReplaceIn(t, file, file, "port: "+"8081", fmt.Sprintf("port: %d", peertest.FreePort(t)))
	}
	boottest.WriteFile(t, filepath.Join(dir, "examples", "eu", "long.yaml"), longChain())
	boottest.WriteFile(t, filepath.Join(dir, "examples", "eu", "groups.yaml"), "{apiVersion: kubi.zone/v1alpha1, kind: Record, metadata: {name: groups, namespace: dns}, "+
		"spec: {domainName: kuadrant-active-groups, zoneRef: {name: zone}, type: TXT, rdata: version=1;groups=green}}\n")
	server, metrics = fmt.Sprintf("127.0.0.1:%d", peertest.FreePort(t)), fmt.Sprintf("127.0.0.1:%d", peertest.FreePort(t))
	corefile := filepath.Join(dir, "Corefile")
	boottest.ReplaceIn(t, "Corefile.example", corefile, ":1053", server[strings.LastIndex(server, ":"):], " manifests examples/na\n", " manifests "+dir+"/examples/na {\ngroup green\n}\n", " examples/", " "+dir+"/examples/",
		":8090", fmt.Sprint(":", peertest.FreePort(t)), "    errors\n", "    errors\n    prometheus "+metrics+"\n", "        rname admin@example.com\n", "        rname admin@example.com\n        state "+dir+"/state\n")
	boottest.RunCoreDNS(t, boottest.CoreDNS(t), corefile)
	return server, metrics
}

// TestObservabilityScrape: a running server exports what the rules and the dashboard query, down to
// the values of labels.
func TestObservabilityScrape(t *testing.T) {
	rules, d := readRules(t), readDashboard(t)
	queries := d.queries()
	expressions := expressionsOf(rules)
	for _, q := range queries {
		expressions = append(expressions, q.promQL())
	}
	asked := parsePromQL(t, expressions, nil)

	server, metrics := startScraped(t)
	scraped := func(metric model.LabelValue, value model.SampleValue) bool {
		return slices.ContainsFunc(scrapeOf(t, metrics), func(s *model.Sample) bool {
			return s.Metric[model.MetricNameLabel] == metric && s.Value == value
		})
	}
	boottest.WaitFor(t, "first answer", func() bool {
		return boottest.FirstA(boottest.Exchange(t, server, "status.k.example.com.", dns.TypeA)) == "192.0.2.10"
	})
	boottest.WaitFor(t, "target that is down", func() bool { return scraped("coredns_kuadrant_target_health", 0) })
	boottest.WaitFor(t, "answer that fails open", func() bool {
		boottest.Exchange(t, server, "checked.k.example.com.", dns.TypeA)
		down := queriedSelector{Metric: "coredns_kuadrant_requests_steered_total"}
		down.Matchers = append(down.Matchers, struct{ Label, Type, Value string }{"class", "=", "down"})
		return down.has(scrapeOf(t, metrics))
	})
	boottest.WaitFor(t, "SERVFAIL", func() bool {
		return boottest.Exchange(t, server, "c0.apps.zone.example.org.", dns.TypeA).Rcode == dns.RcodeServerFailure
	})
	boottest.WaitFor(t, "state on disk", func() bool { return !scraped("coredns_kuadrant_state_written_timestamp_seconds", 0) })

	all, looked := scrapeOf(t, metrics), 0
	recorded := make(map[string]bool)
	for _, r := range rules {
		recorded[r.Record] = true
	}
	for i, e := range asked.Expressions {
		for _, s := range e.Selectors {
			if recorded[s.Metric] || unscraped[s.Metric] != "" {
				continue
			}
			looked++
			if !s.has(all) {
				t.Errorf("%s: the server exports no %s with %v", expressions[i], s.Metric, s.Matchers)
			}
		}
	}
	if looked < 80 {
		t.Errorf("%d selectors were looked for", looked)
	}
	for metric := range unscraped {
		s := queriedSelector{Metric: metric}
		if s.has(all) {
			t.Errorf("the server does export %s: take it out of the list", metric)
		}
	}
	checkLatencyJoin(t, all)
	checkEvaluation(t, all, queries, rules)
}

// checkLatencyJoin checks that both sides of the join of latency with a server block's plugins have
// the same labels.
func checkLatencyJoin(t *testing.T, all model.Vector) {
	t.Helper()
	block := func(s *model.Sample) model.LabelValue {
		return s.Metric["server"] + " " + s.Metric["zone"] + " " + s.Metric["view"]
	}
	enabled, joined := make(map[model.LabelValue]bool), make(map[model.LabelValue]bool)
	for _, s := range all {
		if s.Metric[model.MetricNameLabel] == "coredns_plugin_enabled" && s.Metric["name"] == "kuadrant" {
			enabled[block(s)] = true
		}
	}
	for _, s := range all {
		if s.Metric[model.MetricNameLabel] == "coredns_dns_request_duration_seconds_count" && enabled[block(s)] {
			joined[s.Metric["zone"]] = true
		}
	}
	for _, zone := range []model.LabelValue{"k.example.com.", "zone.example.org."} {
		if !joined[zone] {
			t.Errorf("no latency of %s is joined with the plugin: %v", zone, enabled)
		}
	}
}
