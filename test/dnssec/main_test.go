// Package dnssec tests a whole CoreDNS whose plugin dnssec signs its zones. It has only tests.
package dnssec

import (
	"testing"

	_ "github.com/coredns-kuadrant/kuadrant"
	"github.com/coredns-kuadrant/kuadrant/internal/boottest"
)

func TestMain(m *testing.M) { boottest.Main(m) }
