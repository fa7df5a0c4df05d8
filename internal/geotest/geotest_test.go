package geotest

import (
	"bytes"
	"os"
	"testing"
)

// TestExampleFile checks that the committed file is what the program makes: nobody has to trust a
// binary.
func TestExampleFile(t *testing.T) {
	want, err := Encode(Example, ExampleNetworks())
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../../examples/geo.mmdb")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("examples/geo.mmdb is not what this package makes: run go generate ./internal/geotest")
	}
}

func TestEncodeIsStable(t *testing.T) {
	for schema := City; schema <= Other; schema++ {
		first, err := Encode(schema, Places())
		if err != nil {
			t.Fatal(err)
		}
		for range 5 {
			again, err := Encode(schema, Places())
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(first, again) {
				t.Fatalf("schema %d: the same networks gave different bytes", schema)
			}
		}
	}
}
