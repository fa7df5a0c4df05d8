// Command geodb fetches a real, free country database for tests and
// benchmarks, and prints the path of the file. `make geodb` calls it.
//
// The database is the npm package @ip-location-db/geo-whois-asn-country-mmdb,
// which npm checks against the hash that the registry gives for it. What has
// been fetched stays in the folder -dir (build/geodb, which git ignores); -update
// fetches it again.
package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"

	"github.com/coredns-kuadrant/kuadrant/geo"
)

const (
	pkg  = "@ip-location-db/geo-whois-asn-country-mmdb"
	want = "geo-whois-asn-country.mmdb" // the file for IPv4 and IPv6
	// maxSize bounds what is unpacked of one file; the database has 8 MB.
	maxSize = 256 << 20
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

// fetch puts the database at file, in dir.
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

	var stderr bytes.Buffer
	cmd := exec.Command(npm, "pack", pkg, "--loglevel=error", "--ignore-scripts")
	cmd.Dir, cmd.Stderr = tmp, &stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("fetch %s: npm pack: %w\n%s", pkg, err, bytes.TrimSpace(stderr.Bytes()))
	}
	packs, err := filepath.Glob(filepath.Join(tmp, "*.tgz"))
	if err != nil || len(packs) != 1 {
		return fmt.Errorf("fetch %s: npm pack left %d files, want one", pkg, len(packs))
	}
	fresh := filepath.Join(tmp, want)
	if err := unpack(packs[0], fresh); err != nil {
		return fmt.Errorf("unpack %s: %w", pkg, err)
	}
	// What cannot be used must not replace what could.
	if _, err := geo.Open([]string{fresh}, "", nil); err != nil {
		return err
	}
	return os.Rename(fresh, file)
}

// unpack writes the file of the package whose name is to's.
func unpack(pack, to string) error {
	f, err := os.Open(pack)
	if err != nil {
		return err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return err
	}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return fmt.Errorf("there is no file %q in it", filepath.Base(to))
		} else if err != nil {
			return err
		}
		if h.Typeflag != tar.TypeReg || path.Base(h.Name) != filepath.Base(to) {
			continue
		}
		if h.Size > maxSize {
			return fmt.Errorf("file %q has %d octets, want at most %d", h.Name, h.Size, maxSize)
		}
		return write(to, r)
	}
}

func write(to string, r io.Reader) error {
	f, err := os.Create(to)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, r)
	return errors.Join(err, f.Close())
}
