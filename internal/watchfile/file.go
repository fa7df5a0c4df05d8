package watchfile

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// File is one file to follow. It belongs to one goroutine at a time.
type File struct {
	// Path is the path of the file.
	Path string
	// MaxSize is the most that Read reads, in octets.
	MaxSize int64

	tried os.FileInfo // the version that Read last tried; nil while the file is gone
	last  os.FileInfo // the version that Look last saw; nil while the file is gone
	gone  error       // why it was not there at the last look or read; nil if it was
	// closed is set if the version last tried could not be opened, which may pass.
	closed bool
}

// ErrChanging is Read's error if the file is written to during the read.
var ErrChanging = errors.New("the file changed while it was read")

// Found is the result of a look at a file.
type Found uint8

// These are the results of Look.
const (
	Unchanged Found = iota // as last tried
	Changing               // not as at the last look: it may still be written to
	Changed                // a version that was not tried yet, and at rest
	Gone                   // no longer there, or for a new reason
)

// Look compares the file with what it saw before. A new version counts once two looks have seen it
// alike: a file that is copied into place appears before it is complete.
//
// err is why the file is gone; nil if it is not.
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

// sameVersion reports whether a and b, which may be nil, describe the same version of the same
// file.
func sameVersion(a, b os.FileInfo) bool {
	return a != nil && b != nil && os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}

// Read returns the content of the file. The version counts as tried afterwards, unless the error is
// ErrChanging.
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

// read returns the file's content and version; the version is nil if there is no file.
func (f *File) read() ([]byte, os.FileInfo, error) {
	// Opening a pipe would block until a writer opens it.
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

// Bare removes the path from err, because every message names it already.
func Bare(err error) error {
	var p *os.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
