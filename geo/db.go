package geo

import (
	"errors"
	"fmt"
	"iter"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coredns-kuadrant/kuadrant/internal/watchfile"
)

// DB is a file of networks and a set of databases, either of which may be
// missing. It is a Locator. Watch keeps it up to date with the files.
//
// Everything is in memory: the size of the files and up to a fifth more, twice
// that of a database while its next version is read. A free country database
// takes 8 MB and loads in 0.1 s, a City database 60 to 130 MB and about a second.
// Nothing has to be closed.
type DB struct {
	state atomic.Pointer[state]
	log   Logger

	mu    sync.Mutex // held while files are read; guards files
	files []*file
}

var _ Locator = (*DB)(nil)

// Logger gets a DB's log lines, one for each change. Its methods are called from the goroutine of
// Watch and from those of look-ups.
type Logger interface {
	// Infof logs a success: a file has been reloaded.
	Infof(format string, args ...any)
	// Warningf logs a problem to look at: a file cannot be read.
	Warningf(format string, args ...any)
}

// silent is the Logger of a DB that was opened without one.
type silent struct{}

func (silent) Infof(string, ...any)    {}
func (silent) Warningf(string, ...any) {}

// OpenError is the error of Open for one file.
type OpenError struct {
	Path string
	Nets bool  // it is the file of networks, not a database
	Err  error // what is wrong with it
}

// Error names the file and what is wrong with it.
func (e *OpenError) Error() string {
	return fmt.Sprintf("open %s %q: %v", kindOf(e.Nets), e.Path, e.Err)
}

// Unwrap returns what is wrong with the file.
func (e *OpenError) Unwrap() error { return e.Err }

// Open reads databases in the order in which they are consulted, at most 8, and a file of networks
// (rule 3.4; see ParseNets for its form). files and nets may be empty. The content of a database
// shows what it can answer: country, continent and subdivision, AS number, or both. The error is an
// *OpenError if one file is to blame.
//
// log, which may be nil, gets a line when a file is reloaded or cannot be, once for each change.
func Open(files []string, nets string, log Logger) (*DB, error) {
	if len(files) > maxFiles {
		return nil, fmt.Errorf("open geo databases: found %d files, want at most %d", len(files), maxFiles)
	}
	if log == nil {
		log = silent{}
	}
	d := &DB{log: log}
	for _, path := range files {
		d.files = append(d.files, newFile(path, false))
	}
	if nets != "" {
		d.files = append(d.files, newFile(nets, true))
	}
	for _, f := range d.files {
		if err := f.load(); err != nil {
			return nil, &OpenError{Path: f.Path, Nets: f.isNets, Err: err}
		}
	}
	d.publish()
	return d, nil
}

// Locate implements Locator. If a database turns out to be damaged at an address, it knows nothing
// of that address.
func (d *DB) Locate(addr netip.Addr, need Need) (codes *Codes, bits int) {
	return d.state.Load().locate(addr, need)
}

// Built yields each database's own build time, by the path of its file; it skips databases without one. Any number of goroutines may call
// it.
func (d *DB) Built() iter.Seq2[string, time.Time] {
	return func(yield func(string, time.Time) bool) {
		for _, b := range d.state.Load().lists[NeedPlace|NeedAS].bases {
			if epoch := b.reader.Metadata.BuildEpoch; epoch > 0 && !yield(b.path, time.Unix(int64(min(uint64(epoch), latest)), 0)) {
				return
			}
		}
	}
}

// latest bounds a database's build time: the year 9999, in seconds since 1970.
const latest = 253402300799

// publish makes Locate use what the files hold now. The caller holds d.mu, or nobody else has d
// yet.
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

// refresh reads the files that have changed; it leaves a file that may still be being written for
// the next time. If a file cannot be read or understood, its last good content stays in use.
func (d *DB) refresh() {
	d.mu.Lock()
	defer d.mu.Unlock()
	loaded := false
	for _, f := range d.files {
		found, err := f.Look()
		if found == watchfile.Changed {
			err = f.load()
		}
		switch {
		case found == watchfile.Changing || errors.Is(err, watchfile.ErrChanging):
		case err != nil:
			d.log.Warningf("%s %q: cannot read: %v; keeping the previous one", f.kind(), f.Path, err)
		case found == watchfile.Changed:
			d.log.Infof("%s %q: reloaded", f.kind(), f.Path)
			loaded = true
		}
	}
	if loaded {
		d.publish()
	}
}
