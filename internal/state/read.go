package state

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// Errors of Read. Other errors say which line cannot be read.
var (
	ErrNotState = errors.New("not a state file of this server")
	ErrNewer    = errors.New("written by a newer version of this server")
	ErrSum      = errors.New("damaged: checksum mismatch")
	ErrLine     = errors.New("damaged: the first line has changed")
)

// Read returns the contents of the file in dir. The error wraps fs.ErrNotExist if there is none. A damaged file is
// refused whole. Memory use is proportional to the result.
func Read(dir string) (*Contents, error) {
	file, err := os.Open(filepath.Join(dir, Name))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("not a file")
	}
	return read(file, info.Size())
}

// read reads a file of size octets.
func read(file io.ReaderAt, size int64) (*Contents, error) {
	if size > maxSize {
		return nil, fmt.Errorf("%d octets, more than the %d allowed", size, maxSize)
	}
	h, err := readHeader(io.NewSectionReader(file, 0, headerSize))
	if err != nil {
		return nil, err
	}
	if follow := size - headerSize; h.Size != follow {
		return nil, fmt.Errorf("damaged: %d octets follow the first line, which says %d", follow, h.Size)
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, io.NewSectionReader(file, headerSize, h.Size)); err != nil {
		return nil, err
	}
	if hex.EncodeToString(sum.Sum(nil)) != h.Sum {
		return nil, ErrSum
	}
	r := newReader(h)
	in := bufio.NewScanner(io.NewSectionReader(file, headerSize, h.Size))
	in.Buffer(nil, maxLine)
	number := 1
	for in.Scan() {
		number++
		if err := r.line(in.Bytes()); err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
	}
	if err := in.Err(); errors.Is(err, bufio.ErrTooLong) {
		return nil, fmt.Errorf("line %d: more than %d octets", number+1, maxLine)
	} else if err != nil {
		return nil, err
	}
	return r.contents(), nil
}

// readHeader reads and checks the first line, which is headerSize octets long.
func readHeader(in io.Reader) (h header, err error) {
	text, err := io.ReadAll(io.LimitReader(in, headerSize))
	if err != nil {
		return h, err
	}
	if !bytes.HasPrefix(text, []byte(beginning)) {
		return h, ErrNotState
	}
	// A newer version may have any form after the version number.
	var form int
	if err := json.NewDecoder(bytes.NewReader(text[len(beginning):])).Decode(&form); err == nil && form > version {
		return h, fmt.Errorf("%w: format %d, while this one reads up to %d", ErrNewer, form, version)
	}
	if json.Unmarshal(text, &h) != nil || h.Version != version || h.Runs < 0 {
		return h, ErrLine
	}
	if written, err := h.encode(); err != nil || !bytes.Equal(text, written) {
		return h, ErrLine
	}
	return h, nil
}

// reader holds the state of reading a file.
type reader struct {
	c       Contents
	cluster *api.Cluster // the current one; nil before the first
	loader  *api.Loader  // of cluster
	left    bool         // the current one is skipped, with its objects
	lacks   [api.NumKinds]bool
	owners  map[string]api.Owner
	serials map[string]api.Kept
	health  map[string]string
}

func newReader(h header) *reader {
	return &reader{
		c:      Contents{Written: h.Written, Runs: h.Runs, Groups: make(map[string]*api.ActiveGroups)},
		owners: make(map[string]api.Owner), serials: make(map[string]api.Kept), health: make(map[string]string),
	}
}

// line processes one line.
func (r *reader) line(line []byte) error {
	name, value, ok := member(line)
	if !ok {
		return errors.New("not an object with one member")
	}
	switch name {
	case "cluster":
		return r.begin(value)
	case "owner":
		var l ownerLine
		if err := json.Unmarshal(value, &l); err != nil { // the first edition has more fields
			return err
		}
		if l.Owner.Kind >= api.NumKinds {
			return fmt.Errorf("unknown kind %d", l.Owner.Kind)
		}
		r.owners[l.Name] = l.Owner
		return nil
	case "groups":
		return put(value, func(l groupsLine) error { r.c.Groups[l.Zone] = api.NewActiveGroups(l.Active...); return nil })
	case "serial":
		return put(value, func(l serialLine) error { r.serials[l.Zone] = api.Kept{Hash: l.Hash, Serial: l.Serial}; return nil })
	case "health":
		return put(value, func(l healthLine) error { r.health[l.Target] = l.State; return nil })
	case "secrets":
		return strict(value, &r.c.Place)
	case "lacks":
		return put(value, func(kind string) error {
			k, ok := api.ParseKind(kind)
			if !ok {
				return fmt.Errorf("unknown kind %.64q", kind)
			}
			r.lacks[k] = true
			return nil
		})
	default:
		return r.object(name, value)
	}
}

// put decodes value and passes it to take.
func put[T any](value []byte, take func(T) error) error {
	var v T
	if err := strict(value, &v); err != nil {
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

// strict decodes one JSON value without unknown fields into to.
func strict(text []byte, to any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(to); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("more than one value")
	}
	return nil
}

// begin begins a cluster.
func (r *reader) begin(value []byte) error {
	var l clusterLine
	if err := strict(value, &l); err != nil {
		return err
	}
	if l.Name == nil || l.UID == nil || l.Name == "" || l.UID == "" {
		return errors.New("a cluster without a name or UID")
	}
	r.end()
	name, named := l.Name.(string)
	uid, known := l.UID.(string)
	if r.left = !named || !known; r.left {
		r.cluster = nil
		return nil
	}
	c := &api.Cluster{Name: name, UID: uid, Group: l.Group}
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
	r.cluster, r.loader = c, api.NewLoader(c)
	r.c.Clusters = append(r.c.Clusters, Cluster{Cluster: c, Identity: l.Identity, Selection: l.Selection, Heard: l.Heard, Place: l.Place})
	return nil
}

// end ends the current cluster.
func (r *reader) end() {
	if r.cluster == nil {
		return
	}
	r.loader.Done()
	for k, lacks := range r.lacks {
		if lacks {
			r.cluster.Listings[k] = api.NotListed
		}
	}
	r.lacks = [api.NumKinds]bool{}
}

// object adds an object to the current cluster.
func (r *reader) object(name string, value []byte) error {
	bare, octets := strings.CutSuffix(name, " octets")
	k, ok := api.ParseKind(bare)
	if !ok {
		return fmt.Errorf("unknown kind %.64q", bare)
	}
	if r.left {
		return nil
	}
	if r.cluster == nil {
		return fmt.Errorf("%s before any cluster", k)
	}
	if octets { // the first edition's form for text that is not UTF-8
		r.lacks[k] = true
		return nil
	}
	return r.loader.Add(k, value)
}

// contents returns what was read.
func (r *reader) contents() *Contents {
	r.end()
	r.c.Owners, r.c.Serials, r.c.Health = maps.All(r.owners), maps.All(r.serials), maps.All(r.health)
	return &r.c
}
