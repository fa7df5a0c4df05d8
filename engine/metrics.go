package engine

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// What is counted. Their names and labels are fixed in README.md.
var (
	compileDuration = promauto.NewHistogram(prometheus.HistogramOpts{
		Namespace: "coredns", Subsystem: "kuadrant", Name: "compile_duration_seconds",
		Help:    "How long compiling a change took.",
		Buckets: prometheus.ExponentialBuckets(1e-5, 4, 10),
	})
	ProbeDuration = promauto.NewHistogramVec(prometheus.HistogramOpts{
		Namespace: "coredns", Subsystem: "kuadrant", Name: "probe_duration_seconds",
		Help:    "How long a check of a target took, by protocol and result: success, failure, or none where it says nothing about the target.",
		Buckets: prometheus.ExponentialBuckets(1e-3, 4, 8),
	}, []string{"protocol", "result"})
)
