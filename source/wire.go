package source

import (
	"bytes"
	"encoding/json"
	"io"
	"iter"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// wire is one object on its way from the API server into the trees: decoded and
// trimmed, with what a reflector needs besides. It never changes.
type wire struct {
	name    string // "namespace/name"; "" for a bookmark
	version string // metadata.resourceVersion
	last    bool   // the bookmark that ends the initial events of a watch
	value   any    // *api.Gateway and so on; nil for a bookmark, or where err is set
	err     error  // why the object cannot be used
}

// GetObjectKind implements runtime.Object.
func (w *wire) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

// DeepCopyObject implements runtime.Object.
func (w *wire) DeepCopyObject() runtime.Object { c := *w; return &c }

// GetObjectMeta implements metav1.ObjectMetaAccessor with what reflectors ask
// for.
func (w *wire) GetObjectMeta() metav1.Object {
	m := &metav1.ObjectMeta{ResourceVersion: w.version}
	m.Namespace, m.Name, _ = strings.Cut(w.name, "/")
	if w.last {
		m.Annotations = map[string]string{metav1.InitialEventsAnnotationKey: "true"}
	}
	return m
}

// wireList is a list of objects.
type wireList struct {
	metav1.ListMeta
	Items []*wire
}

// GetObjectKind implements runtime.Object.
func (l *wireList) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

// DeepCopyObject implements runtime.Object; the items are shared.
func (l *wireList) DeepCopyObject() runtime.Object { c := *l; return &c }

// readWire reads the metadata of an object, as far as it can be read, and no
// further: the API server writes the fields in alphabetical order, so most of
// an object comes behind.
func readWire(data []byte) *wire {
	w := new(wire)
	var namespace, name string
	dec := newDecoder(bytes.NewBuffer(data))
	for field := range dec.fields() {
		if field != "metadata" {
			continue
		}
		for field := range dec.fields() {
			switch field {
			case "namespace":
				namespace = dec.text()
			case "name":
				name = dec.text()
			case "resourceVersion":
				w.version = dec.text()
			case "annotations":
				if value, err := dec.ReadValue(); err == nil {
					w.last = endsInitialEvents(value)
				}
			}
		}
		break
	}
	if name != "" {
		w.name = namespace + "/" + name
	}
	return w
}

// endsInitialEvents tells whether annotations are those of the bookmark that
// ends a streaming list.
func endsInitialEvents(annotations []byte) bool {
	if !bytes.Contains(annotations, []byte(metav1.InitialEventsAnnotationKey)) {
		return false
	}
	var m map[string]string
	_ = json.Unmarshal(annotations, &m)
	return m[metav1.InitialEventsAnnotationKey] == "true"
}

// kindField returns the `kind` of an object, "" where it has none.
func kindField(data []byte) (kind string) {
	dec := newDecoder(bytes.NewBuffer(data))
	for field := range dec.fields() {
		if field == "kind" {
			return dec.text()
		}
	}
	return ""
}

// decoder walks JSON text.
type decoder struct {
	*jsontext.Decoder
	err error // what fields ended at
}

func newDecoder(r io.Reader) *decoder {
	return &decoder{Decoder: jsontext.NewDecoder(r, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))}
}

// fields yields the names of the fields of the object that comes next; any other
// value is skipped. The body reads the field's value or leaves it.
func (d *decoder) fields() iter.Seq[string] {
	return func(yield func(string) bool) {
		if d.PeekKind() != '{' {
			d.err = d.SkipValue()
			return
		}
		_, d.err = d.ReadToken()
		depth := d.StackDepth()
		for d.err == nil && d.PeekKind() != '}' {
			var name jsontext.Value
			if name, d.err = d.ReadValue(); d.err != nil {
				return
			}
			field := stringOf(name)
			_, before := d.StackIndex(depth)
			if !yield(field) {
				return
			}
			if _, after := d.StackIndex(depth); after == before && d.err == nil {
				d.err = d.SkipValue()
			}
		}
		if d.err == nil {
			_, d.err = d.ReadToken()
		}
	}
}

// text returns the next value if it is a string, else "".
func (d *decoder) text() string {
	value, err := d.ReadValue()
	if err != nil {
		return ""
	}
	return stringOf(value)
}

// stringOf returns the contents of a JSON string, "" for any other value.
func stringOf(value jsontext.Value) string {
	if value.Kind() != '"' {
		return ""
	}
	if bytes.IndexByte(value, '\\') < 0 {
		return string(value[1 : len(value)-1])
	}
	s, err := jsontext.AppendUnquote(nil, value)
	if err != nil {
		return ""
	}
	return string(s)
}
