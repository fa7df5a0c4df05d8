package state

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// ErrTooLarge means that the contents exceed the maximum size that Read accepts.
var ErrTooLarge = errors.New("larger than 1 GiB")

// temporary is the prefix of files being written.
const temporary = "." + Name + "."

// Prepare makes the directory if it does not exist, and removes temporary files of dead processes. A running process
// whose file is removed retries. Prepare fails if the file's name belongs to anything but a file: opening a FIFO
// would block forever.
func Prepare(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make directory: %w", err)
	}
	path := filepath.Join(dir, Name)
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file: remove it", path)
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

// Write replaces the file in dir by c, atomically: a reader, even after a power loss, finds the old contents or c.
// Several processes may write; the last write wins. left names the first maxLeft objects that were omitted because
// they cannot be encoded or their lines are too long.
func Write(dir string, c *Contents) (left []string, err error) {
	file, err := os.CreateTemp(dir, temporary+"*") // mode 0600
	if err != nil {
		return nil, unnamed(err)
	}
	w := newWriter(file)
	if err = w.all(c); err == nil {
		err = file.Sync()
	}
	err = errors.Join(err, file.Close())
	if err == nil {
		err = os.Rename(file.Name(), filepath.Join(dir, Name))
	}
	if err != nil {
		_ = os.Remove(file.Name())
		return nil, unnamed(err)
	}
	return w.left, syncDir(dir)
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
	file *os.File
	out  *bufio.Writer
	sum  hash.Hash
	size int64
	line bytes.Buffer
	left []string
}

func newWriter(file *os.File) *writer {
	w := &writer{file: file, sum: sha256.New()}
	w.out = bufio.NewWriterSize(io.MultiWriter(file, w.sum), 1<<16)
	return w
}

func (w *writer) all(c *Contents) error {
	if _, err := w.file.Seek(headerSize, io.SeekStart); err != nil {
		return err
	}
	if err := w.body(c); err != nil {
		return err
	}
	if err := w.out.Flush(); err != nil {
		return err
	}
	return writeHeader(w.file, header{
		Version: version, Written: c.Written.UTC().Truncate(time.Second), Runs: c.Runs,
		Size: w.size, Sum: hex.EncodeToString(w.sum.Sum(nil)),
	})
}

func writeHeader(file *os.File, h header) error {
	line, err := h.encode()
	if err != nil {
		return err
	}
	_, err = file.WriteAt(line, 0)
	return err
}

// GoOn counts one more run in the file in dir: the server is about to publish more than the file holds. It overwrites
// the first line in place, a few octets of one block. It keeps the version, so that the previous version of this
// server can still use its own file until something has been listed.
func GoOn(dir string) error {
	file, err := os.OpenFile(filepath.Join(dir, Name), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer file.Close()
	h, err := readHeader(file)
	if err != nil {
		return err
	}
	h.Runs = min(h.Runs+1, 1_000_000) // bounded, so that the line fits
	if err := writeHeader(file, h); err != nil {
		return err
	}
	return file.Sync()
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
	for zone, kept := range c.Serials {
		if err := w.member("serial", serialLine{zone, kept.Hash, kept.Serial}); err != nil {
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
		lacks := false
		for object := range c.All(k) {
			written, err := w.object(k, object)
			if err != nil {
				return err
			}
			lacks = lacks || !written
		}
		if lacks {
			if err := w.member("lacks", k.String()); err != nil {
				return err
			}
		}
	}
	return nil
}

// object writes an object, unless it cannot be encoded or its line is too long.
func (w *writer) object(k api.Kind, object any) (written bool, err error) {
	w.begin(k.String())
	if err := api.Encode(&w.line, object); err != nil || w.line.Len() >= maxLine {
		if len(w.left) < maxLeft {
			w.left = append(w.left, fmt.Sprintf("%s %s", k, api.NameOf(object)))
		}
		return false, nil
	}
	return true, w.end()
}

// maxLeft is how many omitted objects are named.
const maxLeft = 10

// member writes a line.
func (w *writer) member(name string, value any) error {
	w.begin(name)
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	w.line.Write(text)
	if w.line.Len() >= maxLine {
		return fmt.Errorf("write %s: a line of %d octets, more than the %d allowed", name, w.line.Len(), maxLine)
	}
	return w.end()
}

// begin begins a line.
func (w *writer) begin(name string) {
	w.line.Reset()
	w.line.WriteString(`{"` + name + `":`)
}

// end ends the line and writes it.
func (w *writer) end() error {
	w.line.WriteString("}\n")
	if w.size += int64(w.line.Len()); w.size > maxSize-headerSize {
		return ErrTooLarge
	}
	_, err := w.out.Write(w.line.Bytes())
	return err
}
