package geo

import (
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"sync/atomic"
)

// DB is a file of networks and a set of databases, either of which may be
// missing. It is a Locator. Watch keeps it up to date with the files.
//
// Everything is in memory: the size of the files and up to a fifth more, twice
// that of a database while its next version is read. A free country database
// takes 8 MB and loads in 0.1 s, a City database 60 to 130 MB and about a second.
// Nothing has to be closed.
type DB struct {
	state  atomic.Pointer[state]
	faults atomic.Uint64
	logf   func(format string, args ...any)

	mu    sync.Mutex // held while files are read; guards files
	files []*file
}

var _ Locator = (*DB)(nil)

// Open reads databases in the order in which they are asked, at most 8, and a
// file of networks (rule 3.4; ParseNets says what it holds). files and nets may
// be empty. What a database can answer is recognised by its content: country,
// continent and subdivision, AS number, or both. An error names the file and
// what is wrong with it.
//
// logf, which may be nil, is called when a file is reloaded or cannot be, once
// for each change.
func Open(files []string, nets string, logf func(format string, args ...any)) (*DB, error) {
	if len(files) > maxFiles {
		return nil, fmt.Errorf("open geo databases: have %d files, want at most %d", len(files), maxFiles)
	}
	if logf == nil {
		logf = func(string, ...any) {}
	}
	d := &DB{logf: logf}
	for _, path := range files {
		d.files = append(d.files, &file{path: path})
	}
	if nets != "" {
		d.files = append(d.files, &file{path: nets, isNets: true})
	}
	for _, f := range d.files {
		if err := f.load(); err != nil {
			return nil, fmt.Errorf("open %s %q: %w", f.kind(), f.path, err)
		}
	}
	d.publish()
	return d, nil
}

// Locate implements Locator. An address where a database turns out to be
// damaged is one of which that database knows nothing.
func (d *DB) Locate(addr netip.Addr, need Need) (codes *Codes, bits int) {
	codes, bits, ok := d.state.Load().locate(addr, need)
	if !ok {
		d.faults.Add(1)
	}
	return codes, bits
}

// Errors returns how many look-ups have met a damaged database. Databases are
// read through when they are loaded, so this stays 0 but for those of a form
// that no known writer makes.
func (d *DB) Errors() uint64 { return d.faults.Load() }

// publish makes what the files hold now what Locate sees. The caller holds
// d.mu, or nobody else has d yet.
func (d *DB) publish() {
	var bases []*base
	var nets *Nets
	for _, f := range d.files {
		if f.isNets {
			nets = f.nets
		} else {
			bases = append(bases, f.base)
		}
	}
	d.state.Store(newState(nets, bases))
}

// refresh reads the files that have changed, and tells whether to look again
// soon, because one may still be being written. A file that cannot be read or
// understood leaves its last good content in use.
func (d *DB) refresh() (again bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	loaded := false
	for _, f := range d.files {
		found, err := f.look()
		if found == changed {
			err = f.load()
		}
		switch {
		case found == changing || errors.Is(err, errChanging):
			again = true
		case err != nil:
			d.logf("%s %q cannot be read, what was loaded before stays in use: %v", f.kind(), f.path, err)
		case found == changed:
			d.logf("%s %q reloaded", f.kind(), f.path)
			loaded = true
		}
	}
	if loaded {
		d.publish()
	}
	return again
}
