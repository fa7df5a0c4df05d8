package jsonwalk

import (
	"errors"
	"io"
	"slices"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

func TestFields(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       []string // name=value of the fields with names that start with "k"
		bad        bool
	}{
		{"fields", `{"k1":"a","x":{"k":"no"},"k2":"b"}`, []string{"k1=a", "k2=b"}, false},
		{"the same name", `{"k":"a","k":"b"}`, []string{"k=a", "k=b"}, false},
		{"not UTF-8", "{\"k\xff\":\"a\xe9b\"}", []string{"k\ufffd=a\ufffdb"}, false},
		{"escapes", `{"\u006b":"\u0061"}`, []string{"k=a"}, false},
		{"another type", `{"k":[1],"k2":"b"}`, []string{"k=", "k2=b"}, false},
		{"an array", `["k"]`, nil, false},
		{"null", `null`, nil, false},
		{"empty", `{}`, nil, false},
		{"truncated", `{"k1":"a","k2`, []string{"k1=a"}, true},
		{"not JSON", `{"k1":"a" "k2":"b"}`, []string{"k1=a"}, true},
		{"nothing", ``, nil, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := Of([]byte(tt.text))
			var got []string
			for name := range w.Fields {
				if key := string(name); key[0] == 'k' {
					text, _ := w.Text()
					got = append(got, key+"="+string(text))
				}
			}
			if !slices.Equal(got, tt.want) || (w.Err != nil) != tt.bad {
				t.Errorf("got %q, error %v", got, w.Err)
			}
			if _, err := w.ReadToken(); w.Err == nil && !errors.Is(err, io.EOF) {
				t.Errorf("behind it: %v", err)
			}
		})
	}
}

func TestElements(t *testing.T) {
	w := Of([]byte(`["a",{"b":[2]},"c",4]`))
	var got []string
	for i := range w.Elements {
		if i%2 == 0 {
			text, ok := w.Text()
			if !ok {
				t.Errorf("element %d is no string", i)
			}
			got = append(got, string(text))
		}
	}
	if !slices.Equal(got, []string{"a", "c"}) || w.Err != nil {
		t.Errorf("got %q, error %v", got, w.Err)
	}
	w = Of([]byte(`{"a":1}`))
	for range w.Elements {
		t.Error("an object has elements")
	}
	if w.Err != nil {
		t.Error(w.Err)
	}
}

func TestLeft(t *testing.T) {
	w := Of([]byte(`[1,2]`))
	for range w.Elements {
		break
	}
	if !errors.Is(w.Err, ErrLeft) {
		t.Errorf("error %v", w.Err)
	}
	for range w.Fields {
		t.Error("the walk goes on")
	}
	if w.Next() != 0 || w.Value() != nil {
		t.Error("the walk goes on")
	}
	if _, ok := w.Text(); ok || !errors.Is(w.Err, ErrLeft) {
		t.Errorf("error %v", w.Err)
	}
	w = Of([]byte(`{"a":1}`))
	for range w.Fields {
		break
	}
	if !errors.Is(w.Err, ErrLeft) {
		t.Errorf("error %v", w.Err)
	}
}

func TestUnquote(t *testing.T) {
	for text, want := range map[string]string{`"a"`: "a", `"a\nb"`: "a\nb", `5`: "", `""`: "", `{}`: "", ``: "", `"`: ""} {
		if got := string(Unquote(jsontext.Value(text))); got != want {
			t.Errorf("Unquote(%s) = %q, want %q", text, got, want)
		}
	}
}
