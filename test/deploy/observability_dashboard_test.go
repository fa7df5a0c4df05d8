package deploy

import (
	"bytes"
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// grafanaDashboard has the fields of config/observability/dashboard.json that tests read.
type grafanaDashboard struct {
	UID, Title    string
	SchemaVersion int
	Panels        []grafanaPanel
	Templating    struct {
		List []struct{ Name, Type, Definition string }
	}
}

type grafanaPanel struct {
	ID                       int
	Type, Title, Description string
	GridPos                  struct{ X, Y, W, H int }
	FieldConfig              struct {
		Defaults struct {
			Unit       string
			Thresholds struct {
				Steps []struct {
					Color string   `json:"color"`
					Value *float64 `json:"value"`
				}
			}
		}
	}
	Targets []struct{ RefID, Expr, LegendFormat string }
}

// dashboardQuery is one expression of a panel.
type dashboardQuery struct {
	panel, Expr, Legend string
}

// promQL returns the expression as Grafana sends it, with a time in place of Grafana's own
// variables.
func (q dashboardQuery) promQL() string {
	return strings.NewReplacer("$__rate_interval", "5m", "$__range", "6h").Replace(q.Expr)
}

func readDashboard(t *testing.T) (d grafanaDashboard) {
	t.Helper()
	text, err := os.ReadFile(dashboardFile)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.NewDecoder(bytes.NewReader(text)).Decode(&d); err != nil {
		t.Fatalf("%s: %v", dashboardFile, err)
	}
	if len(d.Panels) < 30 {
		t.Fatalf("%s has %d panels", dashboardFile, len(d.Panels))
	}
	return d
}

func (d *grafanaDashboard) queries() (all []dashboardQuery) {
	for _, p := range d.Panels {
		for _, target := range p.Targets {
			all = append(all, dashboardQuery{p.Title, target.Expr, target.LegendFormat})
		}
	}
	for _, v := range d.Templating.List {
		if m := regexp.MustCompile(`^label_values\((.*), \w+\)$`).FindStringSubmatch(v.Definition); m != nil {
			all = append(all, dashboardQuery{"variable " + v.Name, m[1], ""})
		}
	}
	return all
}

// TestObservabilityDashboard: the panels have all that a reader needs, do not overlap, and use
// existing variables.
func TestObservabilityDashboard(t *testing.T) {
	d := readDashboard(t)
	if d.UID == "" || d.Title == "" || d.SchemaVersion < 36 {
		t.Errorf("uid %q, title %q, schemaVersion %d", d.UID, d.Title, d.SchemaVersion)
	}
	ids, titles, rows := make(map[int]string), make(map[string]bool), 0
	for i, p := range d.Panels {
		if other, ok := ids[p.ID]; ok || p.ID == 0 {
			t.Errorf("%s and %s have the id %d", other, p.Title, p.ID)
		}
		if titles[p.Title] || p.Title == "" {
			t.Errorf("two panels are called %q", p.Title)
		}
		ids[p.ID], titles[p.Title] = p.Title, true
		for _, o := range d.Panels[:i] {
			a, b := p.GridPos, o.GridPos
			if a.X < b.X+b.W && b.X < a.X+a.W && a.Y < b.Y+b.H && b.Y < a.Y+a.H {
				t.Errorf("%s lies upon %s", p.Title, o.Title)
			}
		}
		if g := p.GridPos; g.X < 0 || g.W < 1 || g.X+g.W > 24 || g.H < 1 {
			t.Errorf("%s: %+v is not within 24 columns", p.Title, g)
		}
		if p.Type == "row" {
			rows++
			continue
		}
		if p.Description == "" || p.FieldConfig.Defaults.Unit == "" || len(p.Targets) == 0 {
			t.Errorf("%s: description %q, unit %q, %d queries", p.Title, p.Description, p.FieldConfig.Defaults.Unit, len(p.Targets))
		}
		refs := make(map[string]bool)
		for _, target := range p.Targets {
			if target.Expr == "" || target.RefID == "" || refs[target.RefID] {
				t.Errorf("%s: query %q: %q", p.Title, target.RefID, target.Expr)
			}
			refs[target.RefID] = true
		}
	}
	if rows < 9 {
		t.Errorf("%d rows", rows)
	}
	checkVariables(t, &d)
}

// checkVariables checks that the defined variables are those in use.
func checkVariables(t *testing.T, d *grafanaDashboard) {
	t.Helper()
	text, err := os.ReadFile(dashboardFile)
	if err != nil {
		t.Fatal(err)
	}
	builtin := []string{"__rate_interval", "__range", "__all"}
	used := make(map[string]bool)
	for _, m := range regexp.MustCompile(`\$\{?(\w+)`).FindAllStringSubmatch(string(text), -1) {
		used[m[1]] = true
	}
	defined := make(map[string]bool)
	for _, v := range d.Templating.List {
		defined[v.Name] = true
		if !used[v.Name] {
			t.Errorf("nothing uses the variable %s", v.Name)
		}
	}
	for name := range used {
		if !defined[name] && !slices.Contains(builtin, name) {
			t.Errorf("the variable %s is used, and not defined", name)
		}
	}
	for _, name := range []string{"datasource", "job", "instance", "cluster", "zone"} {
		if !defined[name] {
			t.Errorf("there is no variable %s", name)
		}
	}
	if uids := regexp.MustCompile(`"uid": "([^"]*)"`).FindAllStringSubmatch(string(text), -1); len(uids) < 40 {
		t.Errorf("%d uids", len(uids))
	} else {
		for _, m := range uids {
			if m[1] != "${datasource}" && m[1] != d.UID {
				t.Errorf("a panel asks the data source %q: it is to ask the one that was chosen", m[1])
			}
		}
	}
}

// TestObservabilityObjects: the kustomization has the rules and the dashboard as in the files, and
// the objects that find the servers.
func TestObservabilityObjects(t *testing.T) {
	var rules map[string]any
	readYAML(t, rulesFile, &rules)
	board, err := os.ReadFile(dashboardFile)
	if err != nil {
		t.Fatal(err)
	}
	seen := make(map[string]bool)
	for _, o := range kustomize(t, "config/observability") {
		seen[o.GetKind()] = true
		switch o.GetKind() {
		case "PrometheusRule":
			want, err := json.Marshal(rules)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := json.Marshal(o.Object["spec"]); err != nil || !bytes.Equal(got, want) {
				t.Errorf("%v: the PrometheusRule has other rules than %s", err, rulesFile)
			}
		case "ConfigMap":
			data, _ := o.Object["data"].(map[string]any)
			if data["dashboard.json"] != string(board) || o.GetLabels()["grafana_dashboard"] == "" {
				t.Errorf("the ConfigMap has another dashboard, or no label: %v", o.GetLabels())
			}
		}
	}
	if len(seen) != 3 || !seen["PrometheusRule"] || !seen["ConfigMap"] || !seen["PodMonitor"] {
		t.Errorf("the kustomization has %v", seen)
	}
}

// TestObservabilityThresholds: alarming values are red, and no figure is missing if there is
// nothing to count.
func TestObservabilityThresholds(t *testing.T) {
	for title, want := range map[string]string{
		"Servers that can answer": `[{"color":"red","value":null},{"color":"green","value":1}]`,
		"Servers that write back": `[{"color":"red","value":null},{"color":"green","value":1},{"color":"red","value":2}]`,
		"Panics":                  `[{"color":"green","value":null},{"color":"red","value":1}]`,
	} {
		panels := readDashboard(t).Panels
		at := slices.IndexFunc(panels, func(p grafanaPanel) bool { return p.Title == title })
		if at < 0 {
			t.Errorf("there is no panel %q", title)
			continue
		}
		steps, err := json.Marshal(panels[at].FieldConfig.Defaults.Thresholds.Steps)
		if err != nil {
			t.Fatal(err)
		}
		if string(steps) != want {
			t.Errorf("%s has the steps %s, want %s", title, steps, want)
		}
		if title == "Servers that can answer" && !strings.HasSuffix(panels[at].Targets[0].Expr, ") or vector(0)") {
			t.Errorf("%s shows nothing where there is none: %s", title, panels[at].Targets[0].Expr)
		}
	}
}
