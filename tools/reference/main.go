// Command reference writes docs/reference.md: the Corefile properties from the README and the
// tables of package page, the fields of objects from config/crd, and the metrics that the plugin
// registers. It also writes docs/api.md from the comments of Go types. `make reference` runs it.
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

// write writes the pages of the module in a folder.
func write(module string) error {
	for file, make := range map[string]func(string) ([]byte, error){page.File: page.Make, page.APIFile: page.MakeAPI} {
		text, err := make(module)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(module, file), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}
