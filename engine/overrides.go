package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/internal/watchfile"
)

// overrideFile is the operator's file of overrides (rule 4.5). It needs no API
// server. A file that is not there says nothing; one that cannot be understood
// leaves what was read before in force.
type overrideFile struct {
	file watchfile.File
	take func(*api.Overrides) // is given what the file says; nil for nothing
	last *api.Overrides       // what it was given last
	log  Logger
	// missing counts the looks in a row that have not found the file, since it was
	// there.
	missing int
}

// openOverrides reads the file for the first time.
func openOverrides(path string, log Logger, take func(*api.Overrides)) (*overrideFile, error) {
	f := &overrideFile{
		file: watchfile.File{Path: path, MaxSize: MaxOverrides}, take: take, log: log,
	}
	err := f.load()
	if errors.Is(err, fs.ErrNotExist) {
		f.log.Warningf("Override file %q does not exist: nothing is overridden until it does", path)
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
	f.missing, f.last = 0, overrides
	f.take(overrides)
	f.log.Infof("Override file %q is in force: %s", f.file.Path, listOverrides(overrides))
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
func (f *overrideFile) watch(ctx context.Context) {
	watchfile.Watch(ctx, func() { f.refresh() })
}

// missed is how many looks in a row must not find the file until it counts as gone:
// an editor may be putting another in its place.
const missed = 5

// refresh reads the file where it has changed, and tells whether to look again
// soon.
func (f *overrideFile) refresh() (again bool) {
	found, err := f.file.Look()
	switch found {
	case watchfile.Gone:
		err = fmt.Errorf("read %s: %w", f.file.Path, err)
	case watchfile.Changed:
		if err = f.load(); err == nil {
			return false
		}
	case watchfile.Unchanged, watchfile.Changing:
	}
	return f.note(found, err)
}

// note takes in what a look, or reading what it found, has come to.
func (f *overrideFile) note(found watchfile.Found, err error) (again bool) {
	switch {
	case found == watchfile.Changing || errors.Is(err, watchfile.ErrChanging):
		return true
	case errors.Is(err, fs.ErrNotExist):
		f.missing = 1
	case err != nil:
		f.missing = 0
		f.log.Warningf("What was overridden before stays so: %v", err)
	case f.missing == 0:
		return false
	case f.missing < missed:
		f.missing++
	default:
		f.missing = 0
		f.log.Warningf("Override file %q is gone: nothing is overridden any more", f.file.Path)
		f.last = nil
		f.take(nil)
	}
	return f.missing > 0
}

// openOverride opens the override file of the Corefile. It counts once it is in force.
func (e *Engine) openOverride(cfg *Options) (f *overrideFile, err error) {
	if cfg.Override == "" {
		return nil, nil
	}
	f, err = openOverrides(cfg.Override, e.log, func(o *api.Overrides) {
		if s := e.settings(); s.override != nil && s.override.file.Path == cfg.Override {
			e.override(o)
		}
	})
	if err != nil {
		return nil, cfg.At("override").Errorf("override: %w", err)
	}
	return f, nil
}

// override makes overrides those that count from now on.
func (e *Engine) override(overrides *api.Overrides) {
	e.overrides.Store(overrides)
	e.wake.ring()
}
