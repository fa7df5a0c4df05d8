package state

import (
	"bytes"
	"maps"
	"reflect"
	"sync"
	"testing"
	"time"

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
				if err := Write(dir, full(t)); err != nil {
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

// FuzzRead reads arbitrary input, as either file, with and without a correct checksum. What is read is read back the same.
func FuzzRead(f *testing.F) {
	dir := f.TempDir()
	f.Add(write(f, dir, full(f)), false)
	f.Add([]byte(old(f)), false)
	f.Add([]byte("{\"cluster\":{\"name\":\"c\",\"uid\":\"u\",\"listings\":{\"Gateway\":{\"state\":\"not "+
		"listed\",\"in\":[\"b\",\"a\"]}}}}\n{\"Gateway\":{\"name\":\"n/g\",\"cluster\":\"c\",\"labels\":{\"\u00ff\":\"\"}}}\n"), true)
	f.Add([]byte("{\"serial\":{\"zone\":\"example.com.\",\"serial\":7}}\n"), true)
	f.Fuzz(func(t *testing.T, text []byte, sum bool) {
		if sum {
			text = []byte(summed(string(text)))
		}
		if serials, err := readSerials(bytes.NewReader(text), int64(len(text))); err == nil {
			again := written(t, func(w *writer) error { return w.serials(serials) })
			if got, err := readSerials(bytes.NewReader(again), int64(len(again))); err != nil || !maps.Equal(got, serials) {
				t.Fatalf("%v, %v; want %v", got, err, serials)
			}
		}
		c, err := readContents(bytes.NewReader(text), int64(len(text)))
		if err != nil {
			if c != nil {
				t.Fatalf("%v, and contents", err)
			}
			return
		}
		text = written(t, func(w *writer) error { return w.body(c) })
		again, err := readContents(bytes.NewReader(text), int64(len(text)))
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

// written returns a file with a body.
func written(t testing.TB, body func(*writer) error) []byte {
	t.Helper()
	var text bytes.Buffer
	if err := new(writer).all(&text, time.Time{}, body); err != nil {
		t.Fatal(err)
	}
	return text.Bytes()
}
