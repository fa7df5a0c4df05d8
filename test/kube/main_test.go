// Package kube tests the plugin, in this process and in others, with real API servers: what it
// reads, what it writes, and what it does while they fail. It has only tests.
package kube

import (
	"testing"

	_ "github.com/coredns-kuadrant/kuadrant"
	"github.com/coredns-kuadrant/kuadrant/internal/boottest"
)

func TestMain(m *testing.M) { boottest.Main(m) }
