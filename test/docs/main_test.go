// Package docs types what README.md and docs/ tell people to type, and compares what comes of it. It has tests alone.
package docs

import (
	"testing"

	_ "github.com/coredns-kuadrant/kuadrant"
	"github.com/coredns-kuadrant/kuadrant/internal/boottest"
)

func TestMain(m *testing.M) { boottest.Main(m) }
