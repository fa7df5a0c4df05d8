// Command queries parses PromQL with Prometheus's own parser, and lists the names in it. Tests
// compare those with what the servers export: see observability_test.go.
//
// Standard input is {"expressions": [...], "series": [...]}: expressions, and series as in unit
// tests of rules. Standard output is {"expressions": [...], "series": [...]}, an Expression and a
// Series for each.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

// Expression lists the names in one expression.
type Expression struct {
	Error     string     `json:"error,omitempty"` // why it cannot be parsed
	Selectors []Selector `json:"selectors"`
	Groupings []Grouping `json:"groupings"`
	// Labels are those of the result; null if they are those of the metric.
	Labels []string `json:"labels"`
}

// Selector is a metric with its label matchers.
type Selector struct {
	Metric   string    `json:"metric"`
	Matchers []Matcher `json:"matchers"`
}

// Matcher is one label matcher, such as class=~"down|up".
type Matcher struct {
	Label string `json:"label"`
	Type  string `json:"type"`
	Value string `json:"value"`
}

// Grouping has the labels of one by, without, on, ignoring or group_left, and the metrics that have
// these labels.
type Grouping struct {
	Labels  []string `json:"labels"`
	Metrics []string `json:"metrics"`
}

// Series is one series of a unit test.
type Series struct {
	Error  string            `json:"error,omitempty"`
	Metric string            `json:"metric"`
	Labels map[string]string `json:"labels"`
}

func main() {
	if err := run(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "queries:", err)
		os.Exit(1)
	}
}

func run(in io.Reader, out io.Writer) error {
	var asked struct{ Expressions, Series []string }
	if err := json.NewDecoder(in).Decode(&asked); err != nil {
		return fmt.Errorf("read standard input: %w", err)
	}
	var told struct {
		Expressions []Expression `json:"expressions"`
		Series      []Series     `json:"series"`
	}
	p := parser.NewParser(parser.Options{})
	for _, text := range asked.Expressions {
		told.Expressions = append(told.Expressions, expression(p, text))
	}
	for _, text := range asked.Series {
		told.Series = append(told.Series, series(p, text))
	}
	return json.NewEncoder(out).Encode(told)
}

func expression(p parser.Parser, text string) (e Expression) {
	expr, err := p.ParseExpr(text)
	if err != nil {
		return Expression{Error: err.Error()}
	}
	e.Labels = resultLabels(expr)
	parser.Inspect(expr, func(n parser.Node, _ []parser.Node) error {
		switch n := n.(type) {
		case *parser.VectorSelector:
			e.Selectors = append(e.Selectors, selector(n))
		case *parser.AggregateExpr:
			e.Groupings = append(e.Groupings, Grouping{n.Grouping, metrics(n.Expr)})
		case *parser.BinaryExpr:
			if m := n.VectorMatching; m != nil && len(m.MatchingLabels) > 0 {
				// Both sides must have the label.
				e.Groupings = append(e.Groupings, Grouping{m.MatchingLabels, metrics(n.LHS)}, Grouping{m.MatchingLabels, metrics(n.RHS)})
			}
		}
		return nil
	})
	return e
}

func selector(v *parser.VectorSelector) Selector {
	s := Selector{Metric: v.Name, Matchers: []Matcher{}}
	for _, m := range v.LabelMatchers {
		if m.Name == labels.MetricName {
			s.Metric = m.Value
			continue
		}
		s.Matchers = append(s.Matchers, Matcher{m.Name, m.Type.String(), m.Value})
	}
	return s
}

// metrics returns the names of all metrics in an expression.
func metrics(expr parser.Expr) (names []string) {
	parser.Inspect(expr, func(n parser.Node, _ []parser.Node) error {
		if v, ok := n.(*parser.VectorSelector); ok {
			names = append(names, selector(v).Metric)
		}
		return nil
	})
	return names
}

// resultLabels returns the labels of an expression's result; nil if they are those of its metric.
func resultLabels(expr parser.Expr) []string {
	switch e := expr.(type) {
	case *parser.ParenExpr:
		return resultLabels(e.Expr)
	case *parser.AggregateExpr:
		if !e.Without {
			return append([]string{}, e.Grouping...)
		}
	case *parser.BinaryExpr:
		if e.LHS.Type() == parser.ValueTypeScalar {
			return resultLabels(e.RHS)
		}
		return resultLabels(e.LHS)
	case *parser.Call:
		switch e.Func.Name {
		case "absent":
			return []string{}
		case "histogram_quantile":
			return slices.DeleteFunc(resultLabels(e.Args[1]), func(l string) bool { return l == "le" })
		}
	}
	return nil
}

func series(p parser.Parser, text string) Series {
	all, _, err := p.ParseSeriesDesc(text)
	if err != nil {
		return Series{Error: err.Error()}
	}
	s := Series{Metric: all.Get(labels.MetricName), Labels: make(map[string]string)}
	all.Range(func(l labels.Label) {
		if l.Name != labels.MetricName {
			s.Labels[l.Name] = l.Value
		}
	})
	return s
}
