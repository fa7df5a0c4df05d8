// Package scenarios tests a whole CoreDNS in this process, which reads directories and is queried
// over sockets. It has only tests.
package scenarios

import (
	"testing"

	_ "github.com/coredns-kuadrant/kuadrant"
	"github.com/coredns-kuadrant/kuadrant/internal/boottest"
)

func TestMain(m *testing.M) { boottest.Main(m) }
