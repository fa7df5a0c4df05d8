// Package dnssec tests a whole CoreDNS whose zones are signed by its plugin dnssec. It has tests alone.
package dnssec

import (
	"testing"

	_ "github.com/coredns-kuadrant/kuadrant"
	"github.com/coredns-kuadrant/kuadrant/internal/boottest"
)

func TestMain(m *testing.M) { boottest.Main(m) }
