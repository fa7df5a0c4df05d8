// Command write writes the database of the examples to the path that it is
// given. `go generate ./internal/geotest` calls it.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/coredns-kuadrant/kuadrant/internal/geotest"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: write PATH")
		os.Exit(2)
	}
	if err := write(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func write(path string) error {
	data, err := geotest.Encode(geotest.Example, geotest.ExampleNetworks())
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o644)
}
