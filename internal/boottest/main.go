package boottest

import (
	"flag"
	"fmt"
	"os"
	"testing"

	clog "github.com/coredns/coredns/plugin/pkg/log"

	"github.com/coredns-kuadrant/kuadrant/internal/kubetest"
)

// Main runs the tests of a package below test/ in the module's root, to which their paths are
// relative.
func Main(m *testing.M) {
	flag.Parse()
	if !testing.Verbose() {
		clog.Discard()
	}
	if err := os.Chdir(kubetest.ModuleRoot()); err != nil {
		fmt.Fprintln(os.Stderr, "find the root of the module:", err)
		os.Exit(1)
	}
	kubetest.Main(m)
}
