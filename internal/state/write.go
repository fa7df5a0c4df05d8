package state

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// ErrTooLarge means that the contents exceed the maximum size that Read accepts.
var ErrTooLarge = errors.New("larger than 1 GiB")

// temporary is the prefix of files being written, in all versions.
const temporary = ".kuadrant-"

// Prepare makes the directory if it does not exist, and removes temporary files of dead processes. A running process
// whose file is removed retries. Prepare fails if a file's name belongs to anything but a file: opening a FIFO would
// block forever.
func Prepare(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make directory: %w", err)
	}
	for _, name := range []string{Name, SerialsName} {
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
			return fmt.Errorf("%s is not a regular file: remove it", path)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("read directory: %w", err)
	}
	for _, e := range entries {
		if e.Type().IsRegular() && strings.HasPrefix(e.Name(), temporary) {
			_ = os.Remove(filepath.Join(dir, e.Name()))
		}
	}
	return nil
}

// Write replaces the large file in dir by c.
func Write(dir string, c *Contents) error {
	return replace(dir, Name, c.Written, func(w *writer) error { return w.body(c) })
}

// WriteSerials replaces the small file in dir.
func WriteSerials(dir string, written time.Time, all Serials) error {
	return replace(dir, SerialsName, written, func(w *writer) error { return w.serials(all) })
}

// replace replaces a file atomically: a reader, even after a power loss, finds the old one or the new one. Several processes may
// write; the last write wins.
func replace(dir, name string, written time.Time, body func(*writer) error) error {
	file, err := os.CreateTemp(dir, temporary+"*") // mode 0600
	if err != nil {
		return unnamed(err)
	}
	if err = new(writer).all(file, written, body); err == nil {
		err = file.Sync()
	}
	err = errors.Join(err, file.Close())
	if err == nil {
		err = os.Rename(file.Name(), filepath.Join(dir, name))
	}
	if err != nil {
		_ = os.Remove(file.Name())
		return unnamed(err)
	}
	return syncDir(dir)
}

// unnamed returns a file system error without the name of the temporary file, which differs each time.
func unnamed(err error) error {
	if path := (*fs.PathError)(nil); errors.As(err, &path) {
		return fmt.Errorf("%s: %w", path.Op, path.Err)
	}
	if link := (*os.LinkError)(nil); errors.As(err, &link) {
		return fmt.Errorf("%s: %w", link.Op, link.Err)
	}
	return err
}

// syncDir makes the rename durable. Not every file system supports it.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Sync(); err != nil && !errors.Is(err, errors.ErrUnsupported) && !errors.Is(err, fs.ErrInvalid) {
		return err
	}
	return nil
}

// writer writes one file.
type writer struct {
	out  *bufio.Writer
	sum  hash.Hash
	size int
	line bytes.Buffer
}

// all writes the first line, the body and the last line.
func (w *writer) all(to io.Writer, written time.Time, body func(*writer) error) error {
	w.sum = sha256.New()
	w.out = bufio.NewWriterSize(io.MultiWriter(to, w.sum), 1<<16)
	if err := api.Encode(&w.line, firstLine{version, written.UTC().Truncate(time.Second)}); err != nil {
		return err
	}
	if err := errors.Join(w.end("\n"), body(w), w.out.Flush()); err != nil {
		return err
	}
	_, err := fmt.Fprintf(to, lastLine, w.sum.Sum(nil))
	return err
}

func (w *writer) body(c *Contents) error {
	for _, cluster := range c.Clusters {
		if err := w.cluster(cluster); err != nil {
			return err
		}
	}
	if c.Place != "" {
		if err := w.member("secrets", c.Place); err != nil {
			return err
		}
	}
	for zone, groups := range c.Groups {
		if err := w.member("groups", groupsLine{zone, groups.Names}); err != nil {
			return err
		}
	}
	for name, owner := range c.Owners {
		if err := w.member("owner", ownerLine{name, owner}); err != nil {
			return err
		}
	}
	for target, state := range c.Health {
		if err := w.member("health", healthLine{target, state}); err != nil {
			return err
		}
	}
	return nil
}

func (w *writer) serials(all Serials) error {
	for _, zone := range slices.Sorted(maps.Keys(all)) {
		if err := w.member("serial", serialLine{zone, all[zone].Hash, all[zone].Serial}); err != nil {
			return err
		}
	}
	return nil
}

func (w *writer) cluster(c Cluster) error {
	line := clusterLine{
		Name: c.Name, UID: c.UID, Identity: c.Identity, Selection: c.Selection,
		Group: c.Group, Heard: c.Heard.UTC().Truncate(time.Second), Listings: make(map[string]listingLine), Place: c.Place,
	}
	if c.Pools.Limited {
		namespaces := append([]string{}, c.Pools.Namespaces...)
		line.PoolsIn = &namespaces
	}
	for k, l := range c.Listings {
		if l == api.NotCounted {
			l = api.NotListed // the reader decides whether it counts
		}
		line.Listings[api.Kind(k).String()] = listingLine{listings[l], c.ListedIn[k]}
	}
	if err := w.member("cluster", line); err != nil {
		return err
	}
	for k := range api.NumKinds {
		for object := range c.All(k) {
			if err := w.member(k.String(), object); err != nil {
				return err
			}
		}
	}
	return nil
}

// member writes a line.
func (w *writer) member(name string, value any) error {
	w.line.WriteString(`{"` + name + `":`)
	if err := api.Encode(&w.line, value); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return w.end("}\n")
}

// end ends the line with text and writes it.
func (w *writer) end(text string) error {
	w.line.WriteString(text)
	if w.size += w.line.Len(); w.size > maxSize-lastSize {
		return ErrTooLarge
	}
	_, err := w.line.WriteTo(w.out)
	return err
}
