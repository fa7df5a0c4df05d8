package main

import (
	"strings"
	"testing"
)

// TestSecondOnTheSameData: a second server reports the conflict before it starts anything, and the
// data are free again after the first ends.
func TestSecondOnTheSameData(t *testing.T) {
	dir := t.TempDir()
	release, err := lock(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := run(t.Context(), dir); err == nil || !strings.Contains(err.Error(), dir+" is in use by another one that runs: end that first") {
		t.Errorf("a second one: %v", err)
	}
	release()
	release, err = lock(dir)
	if err != nil {
		t.Fatalf("after the first: %v", err)
	}
	release()
}
