// Package deploy tests what the project is deployed with: config/, its roles and their use, the Dockerfile, and the
// dashboard and alerts. It has tests alone.
package deploy

import (
	"testing"

	_ "github.com/coredns-kuadrant/kuadrant"
	"github.com/coredns-kuadrant/kuadrant/internal/boottest"
)

func TestMain(m *testing.M) { boottest.Main(m) }
