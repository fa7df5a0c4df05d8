package state

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"sync"
	"testing"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// TestManyWriters: a reader among several writers sees one complete write.
func TestManyWriters(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, full(t))
	var writers sync.WaitGroup
	for range 3 {
		writers.Go(func() {
			for range 10 {
				if _, err := Write(dir, full(t)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	want := flat(full(t))
	for range 20 {
		if got, err := Read(dir); err != nil || !reflect.DeepEqual(flat(got), want) {
			t.Errorf("%+v, %v", got, err)
		}
	}
	writers.Wait()
}

// FuzzRead reads arbitrary input, with and without a correct checksum.
func FuzzRead(f *testing.F) {
	dir := f.TempDir()
	if _, err := Write(dir, full(f)); err != nil {
		f.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, Name))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text, false)
	f.Add(text[headerSize:], true)
	f.Add([]byte("{\"cluster\":{\"name\":\"c\",\"uid\":[1,300],\"listings\":{\"gateway\":{\"state\":\"not "+
		"listed\",\"in\":[\"b\",\"a\"]}}}}\n{\"lacks\":\"zone\"}\n{\"Gateway "+
		"octets\":{\"Name\":\"n/g\",\"Cluster\":\"c\",\"Labels\":{\"\u00ff\":\"\"}}}\n"), true)
	file, err := os.Create(filepath.Join(dir, "again"))
	if err != nil {
		f.Fatal(err)
	}
	defer file.Close()
	f.Fuzz(func(t *testing.T, text []byte, sum bool) {
		if sum {
			text = []byte(summed(string(text)))
		}
		c, err := read(bytes.NewReader(text), int64(len(text)))
		if err != nil {
			return
		}
		// Whatever reads can be written and reads back equal. It need not reach the disk.
		if err := file.Truncate(0); err != nil {
			t.Fatal(err)
		}
		w := newWriter(file)
		if err := w.all(c); err != nil {
			t.Fatal(err)
		}
		again, err := read(file, w.size+headerSize)
		if err != nil || len(again.Clusters) != len(c.Clusters) {
			t.Fatalf("%+v, %v", again, err)
		}
		for i, one := range c.Clusters {
			for k := range api.NumKinds {
				if n := again.Clusters[i].Count(k); n != one.Count(k) {
					t.Errorf("%d objects of kind %s, want %d", n, k, one.Count(k))
				}
			}
		}
	})
}
