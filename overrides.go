package kuadrant

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/internal/watchfile"
	"github.com/coredns-kuadrant/kuadrant/records"
)

// overrideFile is the operator's file of overrides (rule 4.5). It needs no API
// server. A file that is not there says nothing; one that cannot be understood
// leaves what was read before in force.
type overrideFile struct {
	file  watchfile.File
	take  func(*api.Overrides) // is given what the file says
	gone  bool                 // it was not there at the last look
	infof func(format string, args ...any)
	warnf func(format string, args ...any)
}

// maxOverrides is the largest file of overrides that is read, in octets.
const maxOverrides = 1 << 20

// openOverrides reads the file for the first time.
func openOverrides(path string, take func(*api.Overrides)) (*overrideFile, error) {
	f := &overrideFile{
		file: watchfile.File{Path: path, MaxSize: maxOverrides}, take: take, infof: log.Infof, warnf: log.Warningf,
	}
	err := f.load()
	if errors.Is(err, fs.ErrNotExist) {
		f.warnf("Override file %q does not exist: nothing is overridden until it does", path)
		f.take(nil)
		return f, nil
	}
	return f, err
}

// load reads the file. Where it fails, what was read before stays.
func (f *overrideFile) load() error {
	data, err := f.file.Read()
	if err != nil {
		return fmt.Errorf("read %s: %w", f.file.Path, err)
	}
	overrides, err := api.ParseOverrides(f.file.Path, data)
	if err != nil {
		return err
	}
	f.gone = false
	f.take(overrides)
	f.infof("Override file %q is in force: %s", f.file.Path, listOverrides(overrides))
	return nil
}

// listOverrides lists overrides for the log.
func listOverrides(overrides *api.Overrides) string {
	const most = 20
	var lines []string
	more := 0
	for o := range overrides.All() {
		if len(lines) < most {
			lines = append(lines, o.String())
		} else {
			more++
		}
	}
	switch {
	case len(lines) == 0:
		return "nothing is overridden"
	case more > 0:
		lines = append(lines, fmt.Sprintf("%d more", more))
	}
	return strings.Join(lines, ", ")
}

// watch keeps up with the file until ctx ends.
func (f *overrideFile) watch(ctx context.Context) error {
	w := watchfile.Watcher{What: "override file", Paths: func() []string { return []string{f.file.Path} }, Refresh: f.refresh, Warnf: f.warnf}
	return w.Watch(ctx)
}

// refresh reads the file where it has changed, and tells whether to look again
// soon.
func (f *overrideFile) refresh() (again bool) {
	switch found, _ := f.file.Look(); found {
	case watchfile.Changing:
		return true
	case watchfile.Gone:
		f.gone = true
		return true // an editor may be putting another in its place
	case watchfile.Changed:
		err := f.load()
		if errors.Is(err, watchfile.ErrChanging) {
			return true
		}
		if err != nil {
			f.gone = false
			f.warnf("What was overridden before stays so: %v", err)
		}
	case watchfile.Unchanged:
		if f.gone {
			f.gone = false
			f.warnf("Override file %q is gone: nothing is overridden any more", f.file.Path)
			f.take(nil)
		}
	}
	return false
}

// override makes overrides those that count from now on.
func (e *engine) override(overrides *api.Overrides) {
	e.overrides.Store(overrides)
	e.ring()
}

// noteUnmet warns of overrides that concern nothing, once for each version of the
// file: a name that is misspelt should not be found out by the outage it was to
// end.
func (e *engine) noteUnmet(snap *records.Snapshot) {
	overrides := snap.Objects().Overrides
	if overrides == e.noted {
		return
	}
	for _, c := range snap.Objects().Clusters {
		if !c.Complete() {
			return
		}
	}
	e.noted = overrides
	for o := range overrides.All() {
		if !snap.Concerns(&o) {
			e.warnf("Override %q in line %d concerns nothing that is known", o.String(), o.Line)
		}
	}
}
