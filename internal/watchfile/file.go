package watchfile

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// File is one file that is followed. It belongs to one goroutine at a time.
type File struct {
	// Path is where it is.
	Path string
	// MaxSize is the most that is read, in octets.
	MaxSize int64

	tried os.FileInfo // the version that Read was last called for; nil while the file is gone
	last  os.FileInfo // the version that Look saw last; nil while the file is gone
	gone  error       // why it was not there at the last look, or read; nil if it was
	// closed is set where the version that was tried could not be opened, which may pass.
	closed bool
}

// ErrChanging is Read's error where somebody writes to the file meanwhile.
var ErrChanging = errors.New("the file changed while it was read")

// Found is what a look at a file found.
type Found uint8

// What there is to find.
const (
	Unchanged Found = iota // as when it was last tried to read it
	Changing               // not as it was at the last look: it may be being written
	Changed                // a version that nobody has tried, and at rest
	Gone                   // not there any more, or not for the reason of the last time
)

// Look compares the file with what was seen before. A new version counts once
// two looks have seen it alike, because a file that is copied into place is
// there before it is complete.
//
// err is why the file is gone.
func (f *File) Look() (found Found, err error) {
	now, err := os.Stat(f.Path)
	if err != nil {
		was, before := f.tried, f.gone
		f.tried, f.last, f.gone = nil, nil, Bare(err)
		if was != nil || before == nil || before.Error() != f.gone.Error() {
			return Gone, f.gone
		}
		return Unchanged, nil
	}
	f.gone = nil
	rests := sameVersion(f.last, now)
	f.last = now
	switch {
	case sameVersion(f.tried, now):
		if f.closed && opens(f.Path) {
			return Changed, nil
		}
		return Unchanged, nil
	case rests:
		return Changed, nil
	}
	return Changing, nil
}

// opens reports whether a file can be opened.
func opens(path string) bool {
	file, err := os.Open(path)
	if err == nil {
		_ = file.Close()
	}
	return err == nil
}

// sameVersion reports whether a and b, either of which may be nil, are the same
// version of the same file.
func sameVersion(a, b os.FileInfo) bool {
	return a != nil && b != nil && os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}

// Read returns what is in the file. The version counts as tried afterwards,
// unless the error is ErrChanging.
func (f *File) Read() ([]byte, error) {
	f.closed = false
	data, info, err := f.read()
	if !errors.Is(err, ErrChanging) {
		f.tried, f.last = info, info
	}
	if f.gone = nil; info == nil {
		f.gone = err
	}
	return data, err
}

// read returns what is in the file, and which version that is, nil if there is
// none.
func (f *File) read() ([]byte, os.FileInfo, error) {
	// Opening a pipe would wait for its writer.
	info, err := os.Stat(f.Path)
	if err != nil {
		return nil, nil, Bare(err)
	}
	if !info.Mode().IsRegular() {
		return nil, info, errors.New("not a regular file")
	}
	file, err := os.Open(f.Path)
	if err != nil {
		f.closed = true
		return nil, info, Bare(err)
	}
	defer file.Close()
	if info, err = file.Stat(); err != nil {
		return nil, nil, Bare(err)
	}
	if size := info.Size(); size > f.MaxSize {
		return nil, info, fmt.Errorf("%d octets, more than the %d allowed", size, f.MaxSize)
	}
	data := make([]byte, info.Size())
	if _, err := io.ReadFull(file, data); err == io.ErrUnexpectedEOF || err == io.EOF {
		return nil, info, ErrChanging
	} else if err != nil {
		return nil, info, Bare(err)
	}
	after, err := file.Stat()
	if err != nil {
		return nil, info, Bare(err)
	}
	if !sameVersion(info, after) {
		return nil, info, ErrChanging
	}
	return data, info, nil
}

// Bare takes the path off err, because every message names it already.
func Bare(err error) error {
	var p *os.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
