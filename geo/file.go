package geo

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// file is one file of a DB and its last good content.
type file struct {
	path   string
	isNets bool

	base *base // of a database
	nets *Nets // of a file of networks

	tried os.FileInfo // the version that load was last called for; nil while the file is gone
	last  os.FileInfo // the version that look saw last; nil while the file is gone
}

// maxSize is the largest file that is read. The largest databases of the kinds
// that are understood take a few hundred MB.
const maxSize = 1 << 30

var (
	errChanging = errors.New("the file changes while it is read")
	// errEmpty is not just a database's fault: a file of networks that is being
	// rewritten in place is empty for a moment, and must not be taken for one.
	errEmpty = errors.New("the file is empty")
)

func (f *file) kind() string { return kindOf(f.isNets) }

func kindOf(isNets bool) string {
	if isNets {
		return "networks file"
	}
	return "geo database"
}

// look is what a look at a file found.
type look uint8

const (
	unchanged look = iota // as when it was last tried to load it
	changing              // not as it was at the last look: it may be being written
	changed               // a version that nobody has tried, and at rest
	gone                  // not there any more
)

// look compares the file with what was seen before. A new version counts once
// two looks have seen it alike, because a file that is copied into place is
// there before it is complete.
//
// err is why the file is gone.
func (f *file) look() (found look, err error) {
	now, err := os.Stat(f.path)
	if err != nil {
		was := f.tried
		f.tried, f.last = nil, nil
		if was != nil {
			return gone, bare(err)
		}
		return unchanged, nil
	}
	rests := sameVersion(f.last, now)
	f.last = now
	switch {
	case sameVersion(f.tried, now):
		return unchanged, nil
	case rests:
		return changed, nil
	}
	return changing, nil
}

// sameVersion tells whether a and b, either of which may be nil, are the same
// version of the same file.
func sameVersion(a, b os.FileInfo) bool {
	return a != nil && b != nil && os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}

// load reads the file. Where it fails, the content stays as it was.
func (f *file) load() error {
	data, info, err := read(f.path)
	if !errors.Is(err, errChanging) {
		f.tried, f.last = info, info
	}
	if err != nil {
		return err
	}
	if f.isNets {
		nets, err := ParseNets(f.path, bytes.NewReader(data))
		if err != nil {
			return err
		}
		f.nets = nets
		return nil
	}
	b, err := newBase(data)
	if err != nil {
		return err
	}
	b.path = f.path
	f.base = b
	return nil
}

// read returns what is in a file, and which version that is, nil where there is
// none.
func read(path string) ([]byte, os.FileInfo, error) {
	// Opening a pipe would wait for its writer.
	info, err := os.Stat(path)
	if err != nil {
		return nil, nil, bare(err)
	}
	if !info.Mode().IsRegular() {
		return nil, info, fmt.Errorf("not a file but %s", sortOf(info.Mode()))
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, info, bare(err)
	}
	defer file.Close()
	if info, err = file.Stat(); err != nil {
		return nil, nil, bare(err)
	}
	switch size := info.Size(); {
	case size == 0:
		return nil, info, errEmpty
	case size > maxSize:
		return nil, info, fmt.Errorf("the file has %d octets, more than the %d that are read", size, maxSize)
	}
	data := make([]byte, info.Size())
	if _, err := io.ReadFull(file, data); err == io.ErrUnexpectedEOF || err == io.EOF {
		return nil, info, errChanging
	} else if err != nil {
		return nil, info, bare(err)
	}
	after, err := file.Stat()
	if err != nil {
		return nil, info, bare(err)
	}
	if !sameVersion(info, after) {
		return nil, info, errChanging
	}
	return data, info, nil
}

// sortOf says what something is that is not a regular file.
func sortOf(mode fs.FileMode) string {
	switch {
	case mode.IsDir():
		return "a directory"
	case mode&fs.ModeNamedPipe != 0:
		return "a pipe"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	}
	return "a device"
}

// bare takes the path off err, because every message names it already.
func bare(err error) error {
	var p *os.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
