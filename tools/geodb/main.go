// Command geodb fetches a real, free country database for tests and
// benchmarks, and prints the path of the file. `make geodb` calls it.
//
// The database is the npm package @ip-location-db/geo-whois-asn-country-mmdb, which npm checks
// against the registry's hash. It stays in the folder -dir (build/geodb, which git ignores);
// -update fetches it again.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/coredns-kuadrant/kuadrant/geo"
)

const (
	pkg  = "@ip-location-db/geo-whois-asn-country-mmdb"
	want = "geo-whois-asn-country.mmdb" // the file for IPv4 and IPv6
)

func main() {
	dir := flag.String("dir", filepath.Join("build", "geodb"), "folder that keeps the database")
	update := flag.Bool("update", false, "fetch the database even if it is there")
	flag.Parse()
	if flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	file := filepath.Join(*dir, want)
	if _, err := os.Stat(file); err != nil || *update {
		if err := fetch(*dir, file); err != nil {
			fmt.Fprintln(os.Stderr, "geodb:", err)
			os.Exit(1)
		}
	}
	fmt.Println(file)
}

// fetch puts the database into file, in dir.
func fetch(dir, file string) error {
	npm, err := exec.LookPath("npm")
	if err != nil {
		return fmt.Errorf("fetch %s: npm is not installed", pkg)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	tmp, err := os.MkdirTemp(dir, "fetch-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)

	if err := run(tmp, npm, "pack", pkg, "--loglevel=error", "--ignore-scripts"); err != nil {
		return err
	}
	packs, err := filepath.Glob(filepath.Join(tmp, "*.tgz"))
	if err != nil || len(packs) != 1 {
		return fmt.Errorf("fetch %s: npm pack left %d files, want one", pkg, len(packs))
	}
	if err := run(tmp, "tar", "-xzf", filepath.Base(packs[0]), "package/"+want); err != nil {
		return err
	}
	fresh := filepath.Join(tmp, "package", want)
	// An unusable database must not replace a usable one.
	if _, err := geo.Open([]string{fresh}, "", nil); err != nil {
		return err
	}
	return os.Rename(fresh, file)
}

// run runs a command in a folder.
func run(dir, name string, args ...string) error {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("fetch %s: %s %s: %w\n%s", pkg, name, args[0], err, bytes.TrimSpace(out))
	}
	return nil
}
