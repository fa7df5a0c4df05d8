// Command reference writes docs/reference.md: the properties of the Corefile from the README and the tables of the
// package page, the fields of objects from config/crd, the metrics from those that the plugin registers.
// `make reference` calls it. It writes docs/api.md too, of the comments of the Go types.
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
