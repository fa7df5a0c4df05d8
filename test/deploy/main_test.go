// Package deploy tests the deployment files: config/, its roles and their use, the Dockerfile, the
// chart, and the dashboard and alerts. It has only tests.
package deploy

import (
	"testing"

	_ "github.com/coredns-kuadrant/kuadrant"
	"github.com/coredns-kuadrant/kuadrant/internal/boottest"
)

func TestMain(m *testing.M) { boottest.Main(m) }
