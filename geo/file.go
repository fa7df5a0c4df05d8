package geo

import (
	"bytes"
	"errors"

	"github.com/coredns-kuadrant/kuadrant/internal/watchfile"
)

// file is one file of a DB and its last good content.
type file struct {
	watchfile.File
	isNets bool

	base *base // of a database
	nets *Nets // of a file of networks
}

// maxSize is the largest file that is read. The largest databases of the kinds
// that are understood take a few hundred MB.
const maxSize = 1 << 30

func newFile(path string, isNets bool) *file {
	return &file{File: watchfile.File{Path: path, MaxSize: maxSize}, isNets: isNets}
}

// errEmpty is an error for both kinds of file: one that is being rewritten in place is empty for a
// moment, and must not pass for an empty file of networks.
var errEmpty = errors.New("the file is empty")

func (f *file) kind() string { return kindOf(f.isNets) }

func kindOf(isNets bool) string {
	if isNets {
		return "networks file"
	}
	return "geo database"
}

// load reads the file. On failure, the content stays as it was.
func (f *file) load() error {
	data, err := f.Read()
	if err != nil {
		return err
	}
	if len(data) == 0 {
		return errEmpty
	}
	if f.isNets {
		nets, err := ParseNets(f.Path, bytes.NewReader(data))
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
	b.path = f.Path
	f.base = b
	return nil
}
