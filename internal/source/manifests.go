package source

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// ManifestError says why a file could not be read in full.
type ManifestError struct {
	Path string
	// Text says what is wrong, and where in the file.
	Text string
}

// Error names the file and what is wrong with it.
func (e *ManifestError) Error() string { return e.Path + ": " + e.Text }

// Stdin is the path that means standard input, as in kubectl.
const Stdin = "-"

// ReadManifests reads manifests once. A path is a file, a directory, which is read as Directory
// does, or Stdin, which is read from stdin. It ignores opts.Dir, and reports what it leaves out to
// opts.Logf, as Directory does. If an object appears twice, the first counts, in the order of
// paths.
//
// The cluster is never nil. If files could not be read, the error joins a *ManifestError for each
// file or document; the cluster has the rest, and its kinds are not listed: any name may be missing
// (rule 7.4). stated reports whether an object's manifest has a status.
func ReadManifests(opts DirectoryOptions, stdin io.Reader, paths ...string) (c *api.Cluster, stated func(api.Ref) bool, err error) {
	opts.Logf, opts.Infof = logs(opts.Logf, opts.Infof)
	r := &manifestRun{directoryRun: directoryRun{
		opts: &opts, store: newClusterStore(opts.Cluster, opts.Pools), files: make(map[string]*file),
	}}
	for _, path := range paths {
		r.path(path, stdin)
	}
	r.collect(r.order)
	with := make(map[api.Ref]bool)
	for _, path := range r.order {
		for _, doc := range r.files[path].docs {
			for _, o := range doc.objects {
				if _, twice := with[o.ref]; !twice {
					with[o.ref] = o.stated
				}
			}
		}
	}
	return r.store.cluster(r.progress()), func(ref api.Ref) bool { return with[ref] }, errors.Join(r.errs...)
}

// manifestRun is one run of ReadManifests.
type manifestRun struct {
	directoryRun
	order []string // of files
	errs  []error  // for unread files
}

// path reads a path of the command line.
func (r *manifestRun) path(path string, stdin io.Reader) {
	if path == Stdin {
		data, err := io.ReadAll(io.LimitReader(stdin, maxFileSize+1))
		if err == nil && len(data) > maxFileSize {
			err = fmt.Errorf("larger than %d MiB; split it", maxFileSize>>20)
		}
		r.add("standard input", data, err)
		return
	}
	files, err := ManifestFiles(path)
	if err != nil {
		r.add(path, nil, withoutPath(err))
		return
	}
	for _, f := range files {
		r.file(f)
	}
}

// ManifestFiles returns the files at a path: the file itself, or the manifests in a directory.
func ManifestFiles(path string) (files []string, err error) {
	info, err := os.Stat(path)
	if err != nil || !info.IsDir() {
		return []string{path}, err
	}
	entries, err := os.ReadDir(path)
	for _, e := range entries {
		if isManifest(e.Name()) && !e.IsDir() {
			files = append(files, filepath.Join(path, e.Name()))
		}
	}
	return files, err
}

// file reads one file.
func (r *manifestRun) file(path string) {
	f := &file{path: path}
	data, err := f.content(false)
	switch {
	case errors.Is(err, errNotAFile):
		err = errors.New("neither a file nor a directory; pipe the output of a command to -f -")
	case errors.Is(err, fs.ErrNotExist):
		err = errors.New("the link has no target")
	case err != nil:
		err = fmt.Errorf("cannot read it: %w", withoutPath(err))
	}
	r.add(path, data, err)
}

// add takes in a file's content, or the error.
func (r *manifestRun) add(path string, data []byte, err error) {
	if r.files[path] != nil {
		return // given twice
	}
	f := &file{path: path, whole: true}
	r.files[path], r.order = f, append(r.order, path)
	var troubles []string
	if err != nil {
		troubles = []string{err.Error()}
	} else {
		var read *objectReader
		f.docs, read, troubles = r.documents(f, data)
		read.tell(path, r.opts.Logf)
	}
	for _, trouble := range troubles {
		f.whole = false
		r.errs = append(r.errs, &ManifestError{path, trouble})
	}
}
