package watchfile

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fsnotify/fsnotify"
)

// TestWithoutNotification: where the system has no watches left, changes are seen
// nonetheless, and somebody is told what to do.
func TestWithoutNotification(t *testing.T) {
	newWatcher = func() (*fsnotify.Watcher, error) { return nil, errors.New("too many open files") }
	defer func() { newWatcher = fsnotify.NewWatcher }()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		file := File{Path: filepath.Join(dir, "file"), MaxSize: 100}
		var seen, said []string
		w := Watcher{
			What: "the file", Paths: func() []string { return []string{file.Path} },
			Refresh: func() bool {
				found, _ := file.Look()
				if found == Changed {
					if data, err := file.Read(); err == nil {
						seen = append(seen, string(data))
					}
				}
				return found == Changing
			},
			Warnf: func(format string, _ ...any) { said = append(said, format) },
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { w.Watch(ctx); close(done) }()
		for _, text := range []string{"one", "another"} {
			if err := os.WriteFile(file.Path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			time.Sleep(2 * pollAlone)
		}
		cancel()
		<-done
		if got := strings.Join(seen, " "); got != "one another" || len(said) != 1 || !strings.Contains(said[0], "fs.inotify.max_user_instances") {
			t.Errorf("saw %q, said %q", got, said)
		}
	})
}
