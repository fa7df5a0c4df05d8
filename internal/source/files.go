package source

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// maxFileSize is the size in bytes from which a manifest is refused. Such a file has more objects
// than one server is designed for.
const maxFileSize = 64 << 20

// file is the state of one manifest.
type file struct {
	path string
	info os.FileInfo // as of the last read; nil after one that failed
	// racy is set if the file was written so shortly before it was read that a later write may not
	// show in its times.
	racy bool

	sum  [sha256.Size]byte // of the newest content
	docs []document        // the documents in use
	// whole is set once all documents of some content could be parsed; docs then comes from the
	// newest such content.
	whole bool
	// trouble is why the newest content is not in use; "" if it is.
	trouble string
	// ignored is set if the path is not a readable file.
	ignored bool
}

// racyAge is the age below which a file's times are not trusted: some file systems store them with
// a precision of two seconds.
const racyAge = 2 * time.Second

// isManifest reports whether a directory entry of that name is read. Editors and copying tools
// write hidden files before they rename.
func isManifest(name string) bool {
	if strings.HasPrefix(name, ".") {
		return false
	}
	switch filepath.Ext(name) {
	case ".yaml", ".yml", ".json":
		return true
	}
	return false
}

// errNotAFile marks paths that are ignored without a warning: directories, FIFOs, sockets and
// devices.
var errNotAFile = errors.New("not a regular file")

// openRegular opens a file that was regular a moment ago. It does not block if that has changed.
func openRegular(path string) (*os.File, os.FileInfo, error) {
	// Without O_NONBLOCK, opening a FIFO blocks until a writer comes.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errNotAFile
	}
	if err != nil {
		_ = f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

// settles is how long a file must be unchanged before it is read: it may still be written to.
const settles = 50 * time.Millisecond

// errWriting means that a file has just been written.
var errWriting = errors.New("being written")

// content returns the file's content, or nil data if it is unchanged. With settle, it returns
// errWriting if the file was written a moment ago.
func (f *file) content(settle bool) (data []byte, err error) {
	info, err := os.Stat(f.path) // opening a device can have effects of its own
	if err == nil {
		age := time.Since(info.ModTime()) // negative if a clock is behind
		switch {
		case !f.racy && sameVersion(f.info, info):
			return nil, nil
		case !info.Mode().IsRegular():
			err = errNotAFile
		case settle && age >= 0 && age < settles && !sameVersion(f.info, info):
			return nil, errWriting
		}
	}
	f.info = nil
	if err != nil {
		return nil, err
	}
	r, info, err := openRegular(f.path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }()
	if info.Size() <= maxFileSize {
		data, err = io.ReadAll(io.LimitReader(r, maxFileSize+1))
	}
	switch {
	case err != nil:
		return nil, err
	case info.Size() > maxFileSize || len(data) > maxFileSize:
		err = fmt.Errorf("larger than %d MiB; split it", maxFileSize>>20)
	}
	f.info, f.racy = info, time.Since(info.ModTime()) < racyAge
	return data, err
}

// sameVersion reports whether a and b, which may be nil, describe the same version of the same
// file.
func sameVersion(a, b os.FileInfo) bool {
	return a != nil && b != nil && os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}

// load reads the file again if it may have changed, and reports whether its documents did. The
// error is fs.ErrNotExist if the file is gone, or errWriting.
func (r *directoryRun) load(f *file, settle bool) (changed bool, err error) {
	data, err := f.content(settle)
	if err == errWriting {
		return false, err
	}
	if err != nil {
		f.sum = [sha256.Size]byte{} // any next content is new
	}
	switch {
	case errors.Is(err, errNotAFile):
		if !f.ignored {
			r.opts.Logf("%s: ignoring it: %v", f.path, err)
		}
		changed = len(f.docs) > 0
		*f = file{path: f.path, whole: true, ignored: true}
		return changed, nil
	case errors.Is(err, fs.ErrNotExist):
		// A dangling link may lead to any content later.
		if _, lerr := os.Lstat(f.path); lerr != nil {
			return false, fs.ErrNotExist
		}
		r.unread(f, "the link has no target")
		return false, nil
	case err != nil:
		r.unread(f, fmt.Sprintf("cannot read it: %v", withoutPath(err)))
		return false, nil
	case data == nil:
		return false, nil
	}
	f.ignored = false
	sum := sha256.Sum256(data)
	if sum == f.sum {
		return false, nil
	}
	f.sum = sum
	return r.parse(f, data), nil
}

// withoutPath returns a file system error without its path: messages name the file already.
func withoutPath(err error) error {
	if pe := new(fs.PathError); errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

// parse takes in f's new content, and reports whether its documents in use changed.
func (r *directoryRun) parse(f *file, data []byte) (changed bool) {
	docs, read, troubles := r.documents(f, data)
	read.tell(f.path, r.opts.Logf)
	trouble := ""
	if len(troubles) > 0 {
		trouble = troubles[0]
	}
	uses := "none of it"
	if len(docs) > 0 {
		uses = "only its other documents"
	}
	r.trouble(f, trouble, uses)
	if trouble != "" && f.whole {
		return false
	}
	f.whole = trouble == ""
	changed = !slices.EqualFunc(f.docs, docs, func(a, b document) bool { return a.sum == b.sum })
	f.docs = docs
	return changed
}

// documents parses a file, reusing documents of f that did not change. troubles lists the documents
// that are not YAML or JSON, at most maxFaults.
func (r *directoryRun) documents(f *file, data []byte) (docs []document, read *objectReader, troubles []string) {
	read = &objectReader{cluster: r.opts.Cluster, selection: &r.opts.Selection}
	if bytes.HasPrefix(data, []byte("\xff\xfe")) || bytes.HasPrefix(data, []byte("\xfe\xff")) {
		return nil, read, []string{"encoded in UTF-16; save it as UTF-8"}
	}
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")) // byte order mark
	known := make(map[[sha256.Size]byte][]object, len(f.docs))
	for _, doc := range f.docs {
		known[doc.sum] = doc.objects
	}
	onlyJSON := filepath.Ext(f.path) == ".json"
	parts := split(data)
	if onlyJSON {
		parts = func(yield func(part) bool) { yield(part{1, data}) }
	}
	for p := range parts {
		doc := document{sum: sha256.Sum256(p.text), line: p.line}
		var ok bool
		if doc.objects, ok = known[doc.sum]; !ok {
			read.line, read.objects = p.line, nil
			if err := p.each(onlyJSON, func(value []byte) { read.read(value, head{}, 0) }); err != nil {
				if len(troubles) < maxFaults {
					troubles = append(troubles, p.inFile(err))
				}
				continue
			}
			doc.objects = r.same(read.objects)
		}
		docs = append(docs, doc)
	}
	return docs, read, troubles
}

// same replaces objects by known equal ones, which keeps their pointers.
func (r *directoryRun) same(objects []object) []object {
	for i := range objects {
		o := &objects[i]
		o.value = r.store.kinds[o.ref.Kind].same(o.ref.Name, o.value)
	}
	return objects
}

// trouble records why f's newest content is not in use, "" if it is, and logs a change, with what
// is used instead.
func (r *directoryRun) trouble(f *file, cause, uses string) {
	if cause == f.trouble {
		return
	}
	f.trouble = cause
	if cause == "" {
		r.opts.Infof("%s: read again", f.path)
		return
	}
	switch {
	case f.whole:
		uses = "its previous objects"
	case !r.listed:
		uses += ", and answering SERVFAIL for unknown names,"
	}
	r.opts.Logf("%s: %s. Using %s until it is fixed or removed", f.path, cause, uses)
}

// unread notes that f cannot be read.
func (r *directoryRun) unread(f *file, cause string) {
	uses := "none of it"
	if len(f.docs) > 0 {
		uses = "its previous objects"
	}
	r.trouble(f, cause, uses)
}
