// Package docs runs the commands in README.md and docs/, and compares the results. It has only
// tests.
package docs

import (
	"testing"

	_ "github.com/coredns-kuadrant/kuadrant"
	"github.com/coredns-kuadrant/kuadrant/internal/boottest"
)

func TestMain(m *testing.M) { boottest.Main(m) }
