package source

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// DirectoryOptions says what a directory source reads.
type DirectoryOptions struct {
	// Cluster is the objects' cluster, its name and its UID (rule 2.3).
	Cluster string
	// Dir is the directory with the manifests.
	Dir string
	Selection
	Logf  Logf   // takes warnings; nil drops them
	Infof Logf   // takes information; nil sends it to Logf
	Stats *Stats // kept up to date unless nil
}

// Directory returns a Source that reads the manifests in one directory: every *.yaml, *.yml and
// *.json that is not hidden, without subdirectories. It follows symbolic links, so a mounted
// ConfigMap works.
//
// A file may hold several YAML or JSON documents, and lists. Objects of other kinds are ignored. If
// two documents hold the same object, the first counts, in the order of file names. A file may have
// 64 MiB, and one YAML document 4 MiB and 500,000 values; longer lists need documents of their own,
// or JSON. A document's aliases may expand to 1 MiB, or to four times its length.
//
// Secrets are kept even if nothing refers to them: someone put the file there for this server,
// which has to read it all. Headers come only from Secrets with the label api.HeadersLabel.
//
// Directory publishes the first cluster as soon as it has read the directory. Its kinds are listed
// once each file has been parsed or removed: until then an unreadable file could hold any name
// (rule 7.4). Later, a file that cannot be parsed keeps its last objects. Objects removed from the
// directory or from a file are published as deleted. If the directory is missing, unreadable or
// without objects, the removals are published as inferred: it may be a mistake (rule 8.5).
//
// The source checks the files five times a second, or less often if a check takes long, but at
// least every second.
func Directory(opts DirectoryOptions) Source {
	opts.Logf, opts.Infof = logs(opts.Logf, opts.Infof)
	opts.Stats = cmp.Or(opts.Stats, new(Stats))
	return &directory{opts: opts, every: time.Second / 5}
}

type directory struct {
	opts  DirectoryOptions
	every time.Duration // between two checks
}

// Name implements Source.
func (d *directory) Name() string { return d.opts.Cluster }

// Identity implements Source.
func (d *directory) Identity() string {
	dir := d.opts.Dir
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	return fmt.Sprintf("directory %q cluster=%q", dir, d.opts.Cluster)
}

// Run implements Source. It never fails: a missing directory may appear later.
func (d *directory) Run(ctx context.Context, publish func(*api.Cluster)) error {
	r := &directoryRun{
		opts:    &d.opts,
		store:   newClusterStore(d.opts.Cluster, d.opts.Pools),
		files:   make(map[string]*file),
		publish: publish,
	}
	for {
		began := time.Now()
		r.refresh()
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(min(max(d.every, 50*time.Since(began)), time.Second)): // at most 2 % of one CPU
		}
	}
}

// directoryRun is one run of a directory source, used by one goroutine.
type directoryRun struct {
	opts    *DirectoryOptions
	publish func(*api.Cluster)

	lost string // why the directory cannot be read, as last logged

	store  *clusterStore
	files  map[string]*file // by name
	twice  map[again]bool   // the objects that collect found twice
	listed bool             // every file has been parsed once, or has gone
	// changed is set if a file was read but not collected yet because another was being written.
	// waits counts the checks since then.
	changed bool
	waits   int
}

// refresh reads what changed and publishes it.
func (r *directoryRun) refresh() {
	changed, err := r.scan()
	if err != nil {
		r.opts.Stats.setSynced(false)
		text := err.Error()
		r.opts.Stats.problem.Store(&text)
		if text != r.lost {
			r.lost = text
			r.opts.Logf("cluster %q: cannot read its directory: %v; its objects count as missing until it is back", r.opts.Cluster, err)
		}
		if r.store.last != nil {
			r.collect(nil)
			r.publishNews()
		}
		return
	}
	if r.lost != "" {
		r.lost, changed = "", true
		r.opts.Infof("%s: the directory is readable again", r.opts.Dir)
	}
	if changed || r.store.last == nil {
		r.collect(slices.Sorted(maps.Keys(r.files)))
	}
	r.publishNews()
	r.opts.Stats.event()
	problem := r.problem()
	r.opts.Stats.problem.Store(&problem)
	r.opts.Stats.setSynced(problem == "")
}

// publishNews publishes the cluster if it changed.
func (r *directoryRun) publishNews() {
	if c := r.store.cluster(r.progress()); c != nil {
		r.publish(c)
	}
}

// maxWaits is how many consecutive checks wait for files that are being written.
const maxWaits = 10

// scan reads every file that may have changed, and reports whether one did. While a file is being
// written, nothing changes: missing objects may turn up in it.
func (r *directoryRun) scan() (changed bool, err error) {
	entries, err := os.ReadDir(r.opts.Dir)
	if err != nil {
		return false, err
	}
	found, writing, settle := make(map[string]bool, len(entries)), false, r.store.last != nil && r.waits < maxWaits
	for _, entry := range entries {
		name := entry.Name()
		if !isManifest(name) || entry.IsDir() {
			continue
		}
		f := r.files[name]
		if f == nil {
			f = &file{path: filepath.Join(r.opts.Dir, name)}
		}
		one, err := r.load(f, settle)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		found[name], r.files[name] = true, f
		writing, r.changed = writing || err != nil, r.changed || one
	}
	if writing {
		r.waits++
		return false, nil
	}
	for name := range r.files {
		if !found[name] {
			delete(r.files, name)
			r.changed = true
		}
	}
	changed, r.changed, r.waits = r.changed, false, 0
	return changed, nil
}

// again is an object that the file at path repeats.
type again struct {
	ref  api.Ref
	path string
}

// collect puts the objects of all files into the cluster; names has the keys of files. The first of
// two objects with the same name counts.
func (r *directoryRun) collect(names []string) {
	var fresh [api.NumKinds]map[string]any
	for k := range fresh {
		fresh[k] = make(map[string]any)
	}
	from := make(map[api.Ref]stand)
	twice := make(map[again]bool)
	for _, name := range names {
		f := r.files[name]
		for _, doc := range f.docs {
			for _, o := range doc.objects {
				here := stand{f.path, doc.line}
				if first, ok := from[o.ref]; ok {
					r.sayTwice(twice, o.ref, here, first)
					continue
				}
				from[o.ref], fresh[o.ref.Kind][o.ref.Name] = here, o.value
			}
		}
	}
	r.twice = twice
	for k := range fresh {
		if len(from) > 0 && r.store.last != nil {
			for name := range r.store.last.Names(api.Kind(k), "") {
				if _, there := fresh[k][name]; !there {
					r.store.kinds[k].remove(name) // deleted on purpose
				}
			}
		}
		r.store.kinds[k].replace("", fresh[k])
	}
}

// stand is a place in the manifests: the path of a file, and the first line of a document.
type stand struct {
	path string
	line int
}

// sayTwice records a repeated object, and logs it if that is new. It limits the lines: a copied
// directory must not fill the log.
func (r *directoryRun) sayTwice(twice map[again]bool, ref api.Ref, here, first stand) {
	a := again{ref, here.path}
	if len(twice) >= maxTwice || twice[a] {
		return
	}
	twice[a] = true
	if r.twice[a] {
		return
	}
	r.opts.Logf("%s: skipping %s %s (line %d): already in %s, line %d",
		here.path, ref.Kind, ref.Name, here.line, first.path, first.line)
}

// maxTwice bounds the repeated objects that are logged.
const maxTwice = 20

// progress returns how far the kinds are listed.
func (r *directoryRun) progress() *api.Cluster {
	if !r.listed {
		r.listed = true
		for _, f := range r.files {
			r.listed = r.listed && f.whole
		}
	}
	c := &api.Cluster{UID: r.opts.Cluster}
	for k := range c.Listings {
		switch {
		case !r.opts.Watches(api.Kind(k)):
			c.Listings[k] = api.NotWatched
		case r.listed:
			c.Listings[k] = api.Listed
		}
	}
	return c
}

// problem returns which file's newest content is not in use, and why; "" if there is none.
func (r *directoryRun) problem() string {
	first, n := "", 0
	for name, f := range r.files {
		if f.trouble != "" {
			if n++; first == "" || name < first {
				first = name
			}
		}
	}
	switch {
	case n == 0:
		return ""
	case n == 1:
		return first + ": " + r.files[first].trouble
	}
	return fmt.Sprintf("%s: %s (and %d more)", first, r.files[first].trouble, n-1)
}
