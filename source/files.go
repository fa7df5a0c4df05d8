package source

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
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

// maxFileSize is the size in bytes from which on a manifest is refused. A file
// of this size holds more objects than one server is planned for.
const maxFileSize = 64 << 20

// file is what is known of one manifest.
type file struct {
	path string
	info os.FileInfo // as of the last read; nil after one that failed
	// racy is set where the file was written so shortly before it was read
	// that a later write need not show in its times.
	racy bool

	sum  [sha256.Size]byte // of the newest content
	docs []document        // what the file counts for
	// whole is set from the first content on of which every document could be
	// parsed; docs is from the newest such content then.
	whole bool
	// trouble is why the newest content does not count; "" where it does.
	trouble string
	// ignored is set where what stands there is not a file that could be read.
	ignored bool
}

// racyAge is the age below which a file's times are not trusted: file systems
// exist with time stamps of two seconds' precision.
const racyAge = 2 * time.Second

// isManifest tells whether a directory entry of that name is read. Hidden files
// are what editors and copying tools write before they rename.
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

// errNotAFile stands for what is neither read nor missed: directories, FIFOs,
// sockets and devices.
var errNotAFile = errors.New("not a regular file")

// open opens a regular file. Whatever else stands there is not waited for.
func open(path string) (*os.File, os.FileInfo, error) {
	// Opening a device can have effects of its own: look first.
	info, err := os.Stat(path)
	if err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, nil, errNotAFile
	}
	return openRegular(path)
}

// openRegular is open for what was a regular file a moment ago.
func openRegular(path string) (*os.File, os.FileInfo, error) {
	// Without O_NONBLOCK, opening a FIFO blocks until somebody writes.
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

// content reads the file, unless it is as it was the last time; data is nil
// then.
func (f *file) content(force bool) (data []byte, err error) {
	known := f.info
	f.info = nil
	if info, err := os.Stat(f.path); err == nil && known != nil && !force && !f.racy &&
		os.SameFile(known, info) && known.Size() == info.Size() && known.ModTime().Equal(info.ModTime()) {
		f.info = info
		return nil, nil
	}
	r, info, err := open(f.path)
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
		err = fmt.Errorf("it is larger than %d MiB: split it", maxFileSize>>20)
	}
	f.info, f.racy = info, time.Since(info.ModTime()) < racyAge
	return data, err
}

// load reads the file again where it may have changed, and tells whether what
// it counts for did. The error is fs.ErrNotExist where the file is gone.
func (d *reading) load(f *file, force bool) (changed bool, err error) {
	data, err := f.content(force)
	if err != nil {
		f.sum = [sha256.Size]byte{} // whatever comes next is new
	}
	switch {
	case errors.Is(err, errNotAFile):
		if !f.ignored {
			d.logf("%s: ignoring it: %v", f.path, err)
		}
		changed = len(f.docs) > 0
		*f = file{path: f.path, whole: true, ignored: true}
		return changed, nil
	case errors.Is(err, fs.ErrNotExist):
		// A link whose target is missing may come to hold anything.
		if _, lerr := os.Lstat(f.path); lerr != nil {
			return false, fs.ErrNotExist
		}
		d.trouble(f, "the link leads nowhere; bring its target back or remove it")
		return false, nil
	case err != nil:
		d.trouble(f, fmt.Sprintf("cannot read it: %v", withoutPath(err)))
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
	return d.parse(f, data), nil
}

// withoutPath returns what an error of the file system says besides the path.
func withoutPath(err error) error {
	if pe := new(fs.PathError); errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

// parse takes in a new content of f, and tells whether what f counts for
// changed.
func (d *reading) parse(f *file, data []byte) (changed bool) {
	docs, r, trouble := d.documents(f, data)
	if n := len(r.faults) - maxFaults; n > 0 {
		r.faults = append(r.faults[:maxFaults], fmt.Sprintf("and %d more objects skipped", n))
	}
	for _, fault := range r.faults {
		d.logf("%s: %s", f.path, fault)
	}
	if len(r.ignored) > 0 {
		d.logf("%s: ignoring objects of kinds that are not read here: %s", f.path, r.ignoredText())
	}
	d.trouble(f, trouble)
	if trouble != "" && f.whole {
		return false
	}
	f.whole = trouble == ""
	changed = !slices.EqualFunc(f.docs, docs, func(a, b document) bool { return a.sum == b.sum })
	f.docs = docs
	return changed
}

// maxFaults bounds the log lines about the objects of one file.
const maxFaults = 10

// documents parses a file. Documents that f has already are taken from there.
// trouble says what the first document that is not YAML or JSON suffers from.
func (d *reading) documents(f *file, data []byte) (docs []document, r *reader, trouble string) {
	r = &reader{cluster: d.opts.Cluster, selection: &d.opts.Selection}
	if bytes.HasPrefix(data, []byte("\xff\xfe")) || bytes.HasPrefix(data, []byte("\xfe\xff")) {
		return nil, r, "it is in UTF-16; save it as UTF-8"
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
		doc := document{sum: sha256.Sum256(p.text)}
		var ok bool
		if doc.objects, ok = known[doc.sum]; !ok {
			values, err := p.values(onlyJSON)
			if err != nil {
				if trouble == "" {
					trouble = p.inFile(err)
				}
				continue
			}
			doc.objects = d.read(r, p, values)
		}
		docs = append(docs, doc)
	}
	return docs, r, trouble
}

// read turns one document into objects; those that say what is known already
// are the known ones.
func (d *reading) read(r *reader, p part, values []json.RawMessage) []object {
	first := len(r.faults)
	r.objects = nil
	for _, value := range values {
		r.read(value, head{}, 0)
	}
	for i := range r.faults[first:] {
		r.faults[first+i] = fmt.Sprintf("document at line %d: object skipped: %s", p.line, r.faults[first+i])
	}
	for i := range r.objects {
		o := &r.objects[i]
		o.value = d.all.kinds[o.ref.Kind].same(o.ref.Name, o.value)
	}
	return r.objects
}

// trouble notes why f's newest content does not count, "" where it does, and
// says so when that changes.
func (d *reading) trouble(f *file, cause string) {
	if cause == f.trouble {
		return
	}
	f.trouble = cause
	switch {
	case cause == "":
		d.logf("%s: read again", f.path)
	case f.whole:
		d.logf("%s: %s; the objects that it held before stay until it is corrected or removed", f.path, cause)
	case d.listed:
		d.logf("%s: %s; only its other documents count until it is corrected or removed", f.path, cause)
	default:
		d.logf("%s: %s; only its other documents count, and names that are not known cannot be denied (SERVFAIL) until it is corrected or removed", f.path, cause)
	}
}
