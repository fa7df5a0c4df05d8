// Package watchfile follows files that are replaced while they are in use: a new
// version that is renamed into place, swapped through a symbolic link, as
// Kubernetes does with ConfigMaps, or copied over the old one.
package watchfile

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	// Settle is how long a file must rest before it is read, and the pause
	// between two looks at the files.
	Settle = 100 * time.Millisecond
	// Poll is how often the files are looked at without any event: network file
	// systems report none, and a replaced directory above the file reports none
	// either.
	Poll = time.Minute
	// pollAlone is that where the system cannot watch files.
	pollAlone = 5 * time.Second
)

// Watcher is what Watch needs to know of the files.
type Watcher struct {
	// What names the files in messages, such as "geo files".
	What string
	// Paths returns the files as they are named now.
	Paths func() []string
	// Refresh reads the files that have changed, and tells whether to look again
	// soon, because one may still be being written.
	Refresh func() (again bool)
	// Warnf takes what somebody should look at.
	Warnf func(format string, args ...any)
}

// Watch calls Refresh at once, so that changes since the files were opened are
// seen too, and whenever one may have changed, until ctx is done. All calls come
// from the goroutine that called Watch. Where the system cannot watch files, they
// are looked at again and again.
func (f *Watcher) Watch(ctx context.Context) {
	dirs, events, errs := f.open()
	if dirs.watcher != nil {
		defer dirs.watcher.Close()
	}
	soon := time.NewTimer(0) // the first look, once the directories are watched
	defer soon.Stop()
	tick := time.NewTicker(dirs.poll)
	defer tick.Stop()
	waiting := true // soon is running
	for {
		select {
		case <-ctx.Done():
			return
		case <-events:
		case err := <-errs:
			// An overflow: events are lost, so look.
			f.Warnf("watch %s: %v", f.What, err)
		case <-tick.C:
		case <-soon.C:
			dirs.update(f.Paths())
			if waiting = f.Refresh(); waiting {
				soon.Reset(Settle)
			}
			continue
		}
		if !waiting {
			waiting = true
			soon.Reset(Settle)
		}
	}
}

// open returns what watches directories, and where events and errors come from.
func (f *Watcher) open() (watchedDirs, <-chan fsnotify.Event, <-chan error) {
	w, err := newWatcher()
	if err != nil {
		f.Warnf("watch %s: %v: looking at it every %s instead. Where there are too many watches on this machine, raise fs.inotify.max_user_instances",
			f.What, err, pollAlone)
		return watchedDirs{poll: pollAlone}, nil, nil
	}
	return watchedDirs{watcher: w, warnf: f.Warnf, dirs: make(map[string]os.FileInfo), poll: Poll}, w.Events, w.Errors
}

// newWatcher is fsnotify.NewWatcher, but for tests of a system without.
var newWatcher = fsnotify.NewWatcher

// watchedDirs is the set of directories that are watched. It belongs to one
// goroutine.
type watchedDirs struct {
	watcher *fsnotify.Watcher
	warnf   func(format string, args ...any)
	dirs    map[string]os.FileInfo // nil where the directory could not be watched
	poll    time.Duration          // how often to look without any event
}

// update watches the directories that decide what paths mean now, and no
// others. A watch stays with a directory that is moved away, so a directory
// that is another one than before is watched anew.
func (w *watchedDirs) update(paths []string) {
	if w.watcher == nil {
		return
	}
	want := make(map[string]bool)
	for _, path := range paths {
		for _, dir := range dirsOf(path) {
			want[dir] = true
		}
	}
	for dir, was := range w.dirs {
		now, err := os.Stat(dir)
		if want[dir] && err == nil && (was == nil || os.SameFile(was, now)) {
			continue
		}
		_ = w.watcher.Remove(dir) // it may be gone already
		delete(w.dirs, dir)
	}
	for dir := range want {
		was, known := w.dirs[dir]
		if known && was != nil {
			continue
		}
		now, err := os.Stat(dir)
		if err == nil {
			err = w.watcher.Add(dir)
		}
		if err != nil {
			now = nil
			if !known {
				w.warnf("watch directory %q, which is now looked at every %s: %v", dir, Poll, Bare(err))
			}
		}
		w.dirs[dir] = now
	}
}

// maxLinks bounds the symbolic links that are followed for one path, as the
// kernel does.
const maxLinks = 40

// dirsOf returns the directories in which a change can change what path means:
// the one of the file, and the one of each symbolic link on the way to it.
// Where the path ends early, it is the last directory that is there.
func dirsOf(path string) []string {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil
	}
	const sep = string(filepath.Separator)
	root := filepath.VolumeName(path) + sep
	var dirs []string
	at, rest := root, strings.Split(strings.TrimPrefix(path, root), sep)
	for links := 0; len(rest) > 0; {
		name := rest[0]
		rest = rest[1:]
		next := filepath.Join(at, name)
		info, err := os.Lstat(next)
		switch {
		case err != nil:
			return append(dirs, at)
		case info.Mode()&fs.ModeSymlink != 0:
			dirs = append(dirs, at)
			target, err := os.Readlink(next)
			if links++; err != nil || links > maxLinks {
				return dirs
			}
			if filepath.IsAbs(target) {
				root = filepath.VolumeName(target) + sep
				at, target = root, strings.TrimPrefix(target, root)
			}
			rest = append(strings.Split(target, sep), rest...)
		case len(rest) == 0:
			dirs = append(dirs, at)
		default:
			at = next
		}
	}
	return dirs
}
