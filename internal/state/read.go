package state

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// Errors of Read and ReadSerials. Other errors say which line cannot be read.
var (
	ErrNotState = errors.New("not a state file of this server")
	ErrVersion  = errors.New("written by another version of this server")
	ErrSum      = errors.New("damaged: checksum mismatch")
)

// Read returns the contents of the large file in dir. The error wraps fs.ErrNotExist if there is none. A file that is damaged, or of
// which a member is unknown, is refused whole. Memory use is proportional to the file.
func Read(dir string) (*Contents, error) { return readFile(dir, Name, readContents) }

// ReadSerials returns the contents of the small file in dir; if there is none, those of a large file that an older version wrote. The
// error wraps fs.ErrNotExist if there is neither.
func ReadSerials(dir string) (Serials, error) {
	all, err := readFile(dir, SerialsName, readSerials)
	if errors.Is(err, fs.ErrNotExist) {
		return readFile(dir, Name, readOldSerials)
	}
	return all, err
}

// readFile reads a file by a function that is passed its size in octets.
func readFile[T any](dir, name string, read func(file io.ReaderAt, size int64) (T, error)) (none T, err error) {
	file, err := os.Open(filepath.Join(dir, name))
	if err != nil {
		return none, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return none, err
	}
	if !info.Mode().IsRegular() {
		return none, errors.New("not a file")
	}
	return read(file, info.Size())
}

// lines passes the lines between the first and the last to line. The checksum was right.
func (h *header) lines(file io.ReaderAt, line func(name string, value []byte) error) error {
	in := bufio.NewScanner(io.NewSectionReader(file, h.from, h.to-h.from))
	in.Buffer(nil, int(h.to-h.from)+1)
	for number := 2; in.Scan(); number++ {
		name, value, ok := member(in.Bytes())
		if !ok {
			return fmt.Errorf("line %d: not an object with one member", number)
		}
		if err := line(name, value); err != nil {
			return fmt.Errorf("line %d: %w: %w", number, err, ErrVersion)
		}
	}
	return in.Err()
}

// readSerials reads a small file.
func readSerials(file io.ReaderAt, size int64) (Serials, error) {
	h, err := readHeader(file, size)
	if err != nil {
		return nil, err
	}
	all := make(Serials)
	return all, h.lines(file, func(name string, value []byte) error {
		if name != "serial" {
			return fmt.Errorf("unknown member %.64q", name)
		}
		return all.add(value)
	})
}

// add adds the serial of a line.
func (s Serials) add(value []byte) error {
	return put(value, func(l serialLine) error { s[l.Zone] = api.Kept{Hash: l.Hash, Serial: l.Serial}; return nil })
}

// readContents reads a large file.
func readContents(file io.ReaderAt, size int64) (*Contents, error) {
	h, err := readHeader(file, size)
	if err != nil {
		return nil, err
	}
	r := &reader{
		c:      Contents{Written: h.Written, Groups: make(map[string]*api.ActiveGroups)},
		old:    h.Version == oldVersion,
		owners: make(map[string]api.Owner), health: make(map[string]string),
	}
	if err := h.lines(file, r.line); err != nil {
		return nil, err
	}
	r.end()
	r.c.Owners, r.c.Health = maps.All(r.owners), maps.All(r.health)
	return &r.c, nil
}

// header is what the first line says, with where the other lines are.
type header struct {
	firstLine
	from, to int64
	old      oldLine // of version 2
}

// readHeader reads the first line, and compares the checksum.
func readHeader(file io.ReaderAt, size int64) (h header, err error) {
	if size > maxSize {
		return h, fmt.Errorf("%d octets, more than the %d allowed", size, maxSize)
	}
	text := make([]byte, min(size, headerSize))
	if _, err := file.ReadAt(text, 0); err != nil && err != io.EOF {
		return h, err
	}
	if !bytes.HasPrefix(text, []byte(beginning)) {
		return h, ErrNotState
	}
	// Another version may have any form after the version number.
	if err := json.NewDecoder(bytes.NewReader(text[len(beginning):])).Decode(&h.Version); err != nil {
		return h, ErrSum
	}
	switch h.Version {
	case oldVersion:
		err := h.readOld(file, text, size)
		return h, err
	case version:
	default:
		return h, fmt.Errorf("%w: format %d, while this one reads %d and %d", ErrVersion, h.Version, oldVersion, version)
	}
	first, _, ended := bytes.Cut(text, []byte("\n"))
	h.from, h.to = int64(len(first))+1, size-int64(lastSize)
	if !ended || h.to < h.from {
		return h, ErrSum
	}
	sum := sha256.New()
	last := make([]byte, lastSize)
	if _, err := io.Copy(sum, io.NewSectionReader(file, 0, h.to)); err != nil {
		return h, err
	}
	if _, err := file.ReadAt(last, h.to); err != nil {
		return h, err
	}
	if string(last) != fmt.Sprintf(lastLine, sum.Sum(nil)) {
		return h, ErrSum
	}
	if err := api.Decode(first, &h.firstLine); err != nil {
		return h, fmt.Errorf("line 1: %w: %w", err, ErrVersion)
	}
	return h, nil
}

// reader holds the state of reading the large file.
type reader struct {
	c      Contents
	old    bool        // it is of version 2
	loader *api.Loader // of the current cluster; nil before the first
	owners map[string]api.Owner
	health map[string]string
}

// line processes one line.
func (r *reader) line(name string, value []byte) error {
	switch name {
	case "cluster":
		return put(value, r.begin)
	case "owner":
		return put(value, func(l ownerLine) error { r.owners[l.Name] = l.Owner; return nil })
	case "groups":
		return put(value, func(l groupsLine) error { r.c.Groups[l.Zone] = api.NewActiveGroups(l.Active...); return nil })
	case "health":
		return put(value, func(l healthLine) error { r.health[l.Target] = l.State; return nil })
	case "secrets":
		return api.Decode(value, &r.c.Place)
	case "serial":
		if r.old { // ReadSerials reads it
			return nil
		}
	}
	return r.object(name, value)
}

// put decodes value and passes it to take.
func put[T any](value []byte, take func(T) error) error {
	var v T
	if err := api.Decode(value, &v); err != nil {
		return err
	}
	return take(v)
}

// member splits a line, which is an object with one member.
func member(line []byte) (name string, value []byte, ok bool) {
	rest, ok := bytes.CutPrefix(line, []byte(`{"`))
	if !ok {
		return "", nil, false
	}
	before, value, ok := bytes.Cut(rest, []byte(`":`))
	if !ok || len(value) == 0 || value[len(value)-1] != '}' {
		return "", nil, false
	}
	return string(before), value[:len(value)-1], true
}

// begin begins a cluster.
func (r *reader) begin(l clusterLine) error {
	if l.Name == "" || l.UID == "" {
		return errors.New("a cluster without a name or UID")
	}
	r.end()
	c := &api.Cluster{Name: l.Name, UID: l.UID, Group: l.Group}
	if l.PoolsIn != nil {
		c.Pools = api.PoolsIn(*l.PoolsIn...)
	}
	for name, listing := range l.Listings {
		k, ok := api.ParseKind(name)
		state := slices.Index(listings[:], listing.State)
		if !ok || state < 0 {
			return fmt.Errorf("kind %.64q is %.64q", name, listing.State)
		}
		c.Listings[k] = api.Listing(state)
		if slices.Sort(listing.In); c.Listings[k] == api.NotListed {
			c.ListedIn[k] = listing.In
		}
	}
	r.loader = api.NewLoader(c)
	r.c.Clusters = append(r.c.Clusters, Cluster{Cluster: c, Identity: l.Identity, Selection: l.Selection, Heard: l.Heard, Place: l.Place})
	return nil
}

// end ends the current cluster.
func (r *reader) end() {
	if r.loader != nil {
		r.loader.Done()
	}
}

// object adds an object to the current cluster.
func (r *reader) object(name string, value []byte) error {
	k, ok := api.ParseKind(name)
	if !ok {
		return fmt.Errorf("unknown member %.64q", name)
	}
	if r.loader == nil {
		return fmt.Errorf("%s before any cluster", k)
	}
	return r.loader.Add(k, value)
}
