package boottest

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

// Gathered returns the series of a collector of this plugin, by name and labels, as Prometheus
// would read them.
func Gathered(t testing.TB, c prometheus.Collector) map[string]float64 {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(c)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	series := make(map[string]float64)
	for _, f := range families {
		for _, m := range f.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetValue())
			}
			name := strings.TrimPrefix(f.GetName(), "coredns_kuadrant_") + "{" + strings.Join(labels, ",") + "}"
			series[name] = m.GetGauge().GetValue() + m.GetCounter().GetValue()
		}
	}
	return series
}
