// Command reference writes docs/reference.md: the properties of the Corefile from the README and the tables of the
// package page, the fields of objects from config/crd, the metrics from those that the plugin registers.
// `make reference` calls it.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	_ "github.com/coredns-kuadrant/kuadrant" // registers the metrics
	"github.com/coredns-kuadrant/kuadrant/tools/reference/page"
)

func main() {
	if err := write("."); err != nil {
		fmt.Fprintln(os.Stderr, "reference:", err)
		os.Exit(1)
	}
}

// write writes the page of the module in a folder.
func write(module string) error {
	text, err := page.Make(module)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(module, page.File), text, 0o644)
}
