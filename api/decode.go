package api

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"time"
)

// keys reports whether to keep a label or an annotation, by its key.
type keys func(key []byte) bool

func allKeys([]byte) bool { return true }

// decodeObject reads the object in json, and calls body for each top-level field except metadata. If labels is nil, it reads no labels. It
// returns the object's controller; nil for none.
func decodeObject(m *Meta, cluster string, json []byte, labels keys, body func(r *reader, field []byte)) (*Controller, error) {
	r := newReader(json)
	var id identity
	for field := range r.fields() {
		switch string(field) {
		case "metadata":
			*m, id = Meta{}, identity{}
			r.metadata(m, &id, labels)
		default:
			body(r, field)
		}
	}
	if err := r.end(); err != nil {
		return nil, fmt.Errorf("read JSON: %w", err)
	}
	if err := id.check(); err != nil {
		return nil, err
	}
	m.Cluster = cluster
	s := id.uid + id.namespace + "/" + id.name // one piece of memory: there are as many as objects
	m.UID, m.Name = s[:len(id.uid)], s[len(id.uid):]
	m.Fault = r.faults.text
	return id.controller, nil
}

// identity identifies an object.
type identity struct {
	namespace, name, uid string
	unreadable           bool // the namespace is there, but not a string
	controller           *Controller
}

// check refuses names that Kubernetes does not allow. No name that passes can be mistaken for
// another object's "namespace/name".
func (id *identity) check() error {
	if id.unreadable {
		// Not `default`: the object would count for another namespace.
		return errors.New("metadata.namespace is not a string: in YAML, put quotes around a name such as no or 12")
	}
	if id.namespace == "" {
		id.namespace = "default"
	}
	if id.name == "" {
		return errors.New("metadata.name is missing or is not a string: give the object a name")
	}
	if !isName(id.name) {
		return fmt.Errorf("metadata.name %s: only lower-case letters, digits, '-' and '.', at most 253 of them", quote(id.name))
	}
	if !isNamespace(id.namespace) {
		return fmt.Errorf("metadata.namespace %s: only lower-case letters, digits and '-', at most 63 of them", quote(id.namespace))
	}
	return nil
}

// isName reports whether s is a valid name of an object, isNamespace whether it is one of a namespace.
func isName(s string) bool { return len(s) <= 253 && isSubdomain(s) }

func isNamespace(s string) bool { return len(s) <= 63 && !strings.Contains(s, ".") && isSubdomain(s) }

// isSubdomain reports whether s is an RFC 1123 subdomain, apart from its length: the form of
// Kubernetes' names.
func isSubdomain(s string) bool {
	for label := range strings.SplitSeq(s, ".") {
		if label == "" || label[0] == '-' || label[len(label)-1] == '-' || !only(label, lower+digits+"-") {
			return false
		}
	}
	return true
}

// ownAnnotations selects the annotations to keep.
func ownAnnotations(key []byte) bool {
	return bytes.HasPrefix(key, []byte(AttributePrefix)) || string(key) == AnnotationTarget || string(key) == AnnotationTargetAlpha
}

func (r *reader) metadata(m *Meta, id *identity, labels keys) {
	for field := range r.fields() {
		switch string(field) {
		case "name":
			id.name, _ = r.text()
		case "namespace":
			before := r.faults.n
			id.namespace, _ = r.text()
			id.unreadable = r.faults.n > before
		case "uid":
			id.uid, _ = r.text()
		case "generation":
			m.Generation, _ = r.integer()
		case "creationTimestamp":
			m.Created = r.seconds()
		case "deletionTimestamp":
			text, _ := r.raw()
			m.Deleting = len(text) > 0
		case "ownerReferences":
			id.controller = r.controller()
			m.Controlled = id.controller != nil
		case "labels":
			if labels != nil {
				m.Labels = r.stringMap(labels)
			}
		case "annotations":
			m.Annotations = r.stringMap(ownAnnotations)
		}
	}
}

// controller reads owner references, and returns the first that is to a controller; nil
// for none.
func (r *reader) controller() (found *Controller) {
	for range r.elements() {
		var c Controller
		controls := false
		for field := range r.fields() {
			switch string(field) {
			case "controller":
				controls, _ = r.boolean()
			case "kind":
				c.Kind, _ = r.word()
			case "name":
				c.Name, _ = r.text()
			case "uid":
				c.UID, _ = r.text()
			}
		}
		if controls && found == nil {
			found = &c
		}
	}
	return found
}

// seconds reads a time as seconds since 1970.
func (r *reader) seconds() int64 {
	text, ok := r.raw()
	if !ok || len(text) == 0 {
		return 0
	}
	t, err := time.Parse(time.RFC3339, string(text))
	if err != nil {
		r.fault("must be a time such as 2026-01-01T00:00:00Z, not %s", quote(string(text)))
		return 0
	}
	return t.Unix()
}

// stringMap reads an object of strings, and keeps the keys selected by keep. It returns nil if
// there are none.
func (r *reader) stringMap(keep keys) map[string]string {
	var m map[string]string
	for field := range r.fields() {
		if !keep(field) {
			continue
		}
		key := words.intern(field)
		value, ok := r.word()
		if !ok {
			continue
		}
		if m == nil {
			m = make(map[string]string)
		}
		m[key] = value
	}
	return m
}
