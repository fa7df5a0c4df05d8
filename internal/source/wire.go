package source

import (
	"bytes"
	"encoding/json"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/coredns-kuadrant/kuadrant/internal/jsonwalk"
)

// wire is one object on its way from the API server to the trees: decoded and trimmed, with the
// metadata that a reflector needs. It is immutable.
type wire struct {
	name    string // "namespace/name"; "" for a bookmark
	version string // metadata.resourceVersion
	last    bool   // the bookmark that ends the initial events of a watch
	value   any    // *api.Gateway and so on, or a version; nil for a bookmark, or if err is set
	seen    any    // what to pass to an Observer
	err     error  // why the object cannot be used; nil if it can
}

// GetObjectKind implements runtime.Object.
func (w *wire) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

// DeepCopyObject implements runtime.Object.
func (w *wire) DeepCopyObject() runtime.Object { c := *w; return &c }

// GetObjectMeta implements metav1.ObjectMetaAccessor with the fields that reflectors read.
func (w *wire) GetObjectMeta() metav1.Object {
	m := &metav1.ObjectMeta{ResourceVersion: w.version}
	m.Namespace, m.Name, _ = strings.Cut(w.name, "/")
	if w.last {
		m.Annotations = map[string]string{metav1.InitialEventsAnnotationKey: "true"}
	}
	return m
}

type wireList struct {
	metav1.ListMeta
	Items []*wire
}

// GetObjectKind implements runtime.Object.
func (l *wireList) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

// DeepCopyObject implements runtime.Object; the items are shared.
func (l *wireList) DeepCopyObject() runtime.Object { c := *l; return &c }

// readWire reads the metadata of an object, as far as it is readable, and no further: the API
// server writes fields in alphabetical order, so most of an object comes after it.
func readWire(data []byte) *wire {
	w := new(wire)
	var namespace, name string
	walk := jsonwalk.Of(data)
	for field := range walk.Fields {
		if string(field) != "metadata" {
			continue
		}
		for field := range walk.Fields {
			switch string(field) {
			case "namespace":
				namespace = textOf(&walk)
			case "name":
				name = textOf(&walk)
			case "resourceVersion":
				w.version = textOf(&walk)
			case "annotations":
				w.last = endsInitialEvents(walk.Value())
			}
		}
		break
	}
	if name != "" {
		w.name = namespace + "/" + name
	}
	return w
}

// readLabels reads an object's metadata.labels; nil for none. It skips values that are not strings.
func readLabels(data []byte) (labels map[string]string) {
	walk := jsonwalk.Of(data)
	for field := range walk.Fields {
		if string(field) != "metadata" {
			continue
		}
		for field := range walk.Fields {
			if string(field) != "labels" {
				continue
			}
			for key := range walk.Fields {
				key := string(key)
				if value, ok := walk.Text(); ok {
					if labels == nil {
						labels = make(map[string]string)
					}
					labels[key] = string(value)
				}
			}
		}
		break
	}
	return labels
}

// textOf returns the next value if it is a string, else "".
func textOf(w *jsonwalk.Walker) string {
	text, _ := w.Text()
	return string(text)
}

// endsInitialEvents reports whether annotations are those of the bookmark that ends a streaming
// list.
func endsInitialEvents(annotations []byte) bool {
	if !bytes.Contains(annotations, []byte(metav1.InitialEventsAnnotationKey)) {
		return false
	}
	var m map[string]string
	_ = json.Unmarshal(annotations, &m)
	return m[metav1.InitialEventsAnnotationKey] == "true"
}

// kindField returns the `kind` of an object, "" if it has none.
func kindField(data []byte) string {
	walk := jsonwalk.Of(data)
	for field := range walk.Fields {
		if string(field) == "kind" {
			return textOf(&walk)
		}
	}
	return ""
}
