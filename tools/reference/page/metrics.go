package page

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
)

// prefix is the prefix of the plugin's metrics.
const prefix = "coredns_kuadrant_"

var description = regexp.MustCompile(`^Desc\{fqName: "([^"]+)", help: ("(?:[^"\\]|\\.)*"), .*variableLabels: \{([^}]*)\}\}$`)

// metrics writes the metrics that this process has registered.
func metrics(b *strings.Builder, module, _ string) error {
	types, err := metricTypes(module)
	if err != nil {
		return err
	}
	registry, ok := prometheus.DefaultRegisterer.(*prometheus.Registry)
	if !ok {
		return fmt.Errorf("the metrics are registered elsewhere")
	}
	descs := make(chan *prometheus.Desc)
	go func() {
		defer close(descs)
		registry.Describe(descs)
	}()
	var rows [][]string
	for d := range descs {
		m := description.FindStringSubmatch(d.String())
		if m == nil || !strings.HasPrefix(m[1], prefix) {
			continue
		}
		help, err := strconv.Unquote(m[2])
		if err != nil {
			return fmt.Errorf("%s: %w", m[1], err)
		}
		kind := types[strings.TrimPrefix(m[1], prefix)]
		if kind == "" {
			return fmt.Errorf("the code does not say of which type %s is", m[1])
		}
		rows = append(rows, []string{code(m[1] + labelsOf(m[3])), kind, plain(strings.TrimSuffix(help, "."))})
	}
	if len(rows) != len(types) {
		return fmt.Errorf("%d metrics are registered, and the code has %d", len(rows), len(types))
	}
	slices.SortFunc(rows, func(x, y []string) int { return strings.Compare(x[0], y[0]) })
	b.WriteString(strings.ReplaceAll(metricsHead, "'", "`"))
	table(b, "metric", "type", "what")
	for _, r := range rows {
		row(b, r...)
	}
	b.WriteString("\n")
	return nil
}

// metricsHead is the text above the table, with code in single quotes.
const metricsHead = `## Metrics

Of a chosen answer, 'geo' is the continent or country of the member, 'US-*' for subdivisions, 'ASN'
for AS numbers, 'unknown' for codes that match no client, and '*' without one. 'class' is its state:
'up', 'unknown', 'drained', 'drained-unknown', 'down', 'drained-down' or 'forced-down'; from 'down'
on nothing better was left.

`

// labelsOf returns labels in braces, or "" for none; text separates them with commas or spaces.
func labelsOf(text string) string {
	names := strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' })
	if len(names) == 0 {
		return ""
	}
	return "{" + strings.Join(names, ",") + "}"
}

// metricTypes returns the types of the metrics by their names without the prefix, as the root and
// the engine declare them.
func metricTypes(module string) (map[string]string, error) {
	files, err := filepath.Glob(filepath.Join(module, "*.go"))
	if err != nil {
		return nil, err
	}
	more, err := filepath.Glob(filepath.Join(module, "internal", "engine", "*.go"))
	if err != nil {
		return nil, err
	}
	files = append(files, more...)
	types := make(map[string]string)
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) == 0 {
				return true
			}
			switch f := call.Fun.(type) {
			case *ast.Ident:
				if name, ok := literal(call.Args[0]); ok && f.Name == "describe" {
					types[name] = "gauge"
				}
			case *ast.SelectorExpr:
				if pkg, ok := f.X.(*ast.Ident); ok && pkg.Name == "promauto" {
					kind := strings.TrimSuffix(strings.TrimPrefix(f.Sel.Name, "New"), "Vec")
					types[nameIn(call.Args[0])] = strings.ToLower(kind)
				}
			}
			return true
		})
	}
	return types, nil
}

// nameIn returns the field Name of a metric's options.
func nameIn(options ast.Expr) string {
	lit, ok := options.(*ast.CompositeLit)
	if !ok {
		return ""
	}
	for _, e := range lit.Elts {
		if kv, ok := e.(*ast.KeyValueExpr); ok {
			if key, ok := kv.Key.(*ast.Ident); ok && key.Name == "Name" {
				name, _ := literal(kv.Value)
				return name
			}
		}
	}
	return ""
}

func literal(e ast.Expr) (string, bool) {
	lit, ok := e.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(lit.Value)
	return text, err == nil
}
