package main

import (
	"bytes"
	"os"
	"testing"
)

// TestDashboardCurrent: the file is what this program prints.
func TestDashboardCurrent(t *testing.T) {
	file, err := os.ReadFile("../../config/observability/dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	printed, err := dashboard()
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(file, printed) {
		t.Error("config/observability/dashboard.json is old: go run ./tools/dashboard > config/observability/dashboard.json")
	}
}
