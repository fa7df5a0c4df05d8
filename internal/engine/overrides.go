package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync/atomic"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/internal/watchfile"
)

// overrideFile is the operator's file of overrides (rule 4.5). It needs no API server. A missing
// file means no overrides; an invalid one leaves the last content in force.
type overrideFile struct {
	file    watchfile.File
	now     atomic.Pointer[api.Overrides] // its content; nil for none
	changed func()                        // called after each change
	log     Logger
	// missing counts consecutive looks that did not find the file, since it was last there.
	missing int
}

// openOverrides reads the file for the first time. watch logs its content, once that counts.
func openOverrides(path string, log Logger, changed func()) (*overrideFile, error) {
	f := &overrideFile{file: watchfile.File{Path: path, MaxSize: MaxOverrides}, changed: changed, log: log}
	if err := f.load(); !errors.Is(err, fs.ErrNotExist) {
		return f, err
	}
	return f, nil
}

// overrides returns the file's overrides. f may be nil.
func (f *overrideFile) overrides() *api.Overrides {
	if f == nil {
		return nil
	}
	return f.now.Load()
}

// load reads the file. On failure, the last content stays in force.
func (f *overrideFile) load() error {
	data, err := f.file.Read()
	if err != nil {
		return fmt.Errorf("read %s: %w", f.file.Path, err)
	}
	overrides, err := api.ParseOverrides(f.file.Path, data)
	if err != nil {
		return err
	}
	f.missing = 0
	f.now.Store(overrides)
	return nil
}

// say logs what is in force now.
func (f *overrideFile) say() {
	if overrides := f.now.Load(); overrides != nil {
		f.log.Infof("override file %q: active: %s", f.file.Path, listOverrides(overrides))
	} else {
		f.log.Warningf("override file %q does not exist; no overrides are active until it does", f.file.Path)
	}
}

// listOverrides lists overrides for the log.
func listOverrides(overrides *api.Overrides) string {
	const most = 20
	var lines []string
	for o := range overrides.All() {
		if lines = append(lines, o.String()); len(lines) > most {
			lines[most] = "and more"
			break
		}
	}
	return cmp.Or(strings.Join(lines, ", "), "no overrides")
}

// watch follows the file until ctx ends.
func (f *overrideFile) watch(ctx context.Context) {
	f.say()
	watchfile.Watch(ctx, f.refresh)
}

// missed is how many consecutive looks must miss the file before it counts as gone: an editor may
// be replacing it.
const missed = 5

// refresh reads the file if it has changed.
func (f *overrideFile) refresh() {
	found, err := f.file.Look()
	switch {
	case found == watchfile.Changed:
		if err = f.load(); err == nil {
			f.changed()
			f.say()
		}
	case err != nil:
		err = fmt.Errorf("read %s: %w", f.file.Path, err)
	}
	switch {
	case found == watchfile.Changing || errors.Is(err, watchfile.ErrChanging):
	case errors.Is(err, fs.ErrNotExist):
		f.missing = 1
	case err != nil:
		f.missing = 0
		f.log.Warningf("override file: keeping the previous overrides: %v", err)
	case f.missing == missed:
		f.missing = 0
		f.log.Warningf("override file %q is gone; no overrides are active", f.file.Path)
		f.now.Store(nil)
		f.changed()
	case f.missing > 0:
		f.missing++
	}
}
