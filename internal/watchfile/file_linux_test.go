package watchfile

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestOpensAgain (bug D1): a version that could not be opened, here for lack of descriptors, is
// read once it can be, without another write.
func TestOpensAgain(t *testing.T) {
	file := File{Path: filepath.Join(t.TempDir(), "file"), MaxSize: 100}
	if err := os.WriteFile(file.Path, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	none := limit
	none.Cur = 0
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &none); err != nil {
		t.Fatal(err)
	}
	_, err := file.Read()
	found, lookErr := file.Look()
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	if err == nil || lookErr != nil || found != Unchanged {
		t.Errorf("read: %v; a look found %d, %v", err, found, lookErr)
	}
	if found, err := file.Look(); found != Changed || err != nil {
		t.Errorf("with descriptors, a look found %d, %v", found, err)
	}
	if text, err := file.Read(); string(text) != "text" || err != nil {
		t.Errorf("read %q, %v", text, err)
	}
	if found, err := file.Look(); found != Unchanged || err != nil {
		t.Errorf("then a look found %d, %v", found, err)
	}
}
