package health

import (
	"testing"

	_ "github.com/coredns-kuadrant/kuadrant"
	"github.com/coredns-kuadrant/kuadrant/internal/boottest"
)

func TestMain(m *testing.M) { boottest.Main(m) }
