// Package kube holds the benchmark against a real API server. It has no code of
// its own: see the test files.
package kube
