package source

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"strings"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/coredns-kuadrant/kuadrant/api"
	kubizone "github.com/coredns-kuadrant/kuadrant/api/kubizone/v1alpha1"
	v1 "github.com/coredns-kuadrant/kuadrant/api/v1"
	"github.com/coredns-kuadrant/kuadrant/api/v1alpha1"
	"github.com/coredns-kuadrant/kuadrant/internal/jsonwalk"
)

// fields maps the names of an object's possible fields to the fields below them; nil allows any.
type fields map[string]fields

// knownFields has the fields of each kind, as in its CRD. kubectl refuses others; in files, only this
// source reports them.
var knownFields = [api.NumKinds]fields{
	api.KindGateway:   fieldsOf[gatewayv1.Gateway](),
	api.KindDNSPolicy: fieldsOf[v1.DNSPolicy](),
	api.KindProbe:     fieldsOf[v1alpha1.DNSHealthCheckProbe](),
	api.KindZone:      fieldsOf[kubizone.Zone](),
	api.KindRecord:    fieldsOf[kubizone.Record](),
	api.KindDNSRecord: fieldsOf[v1alpha1.DNSRecord](),
	api.KindDNSEndpoint: {"apiVersion": nil, "kind": nil, "metadata": nil, "status": nil, "spec": {
		"endpoints": fieldsOf[v1alpha1.DNSRecord]()["spec"]["endpoints"],
	}},
}

// fieldsOf returns the fields of objects of type T. Metadata and status may hold anything.
func fieldsOf[T any]() fields {
	all := fieldsOfType(reflect.TypeFor[T]())
	all["metadata"], all["status"] = nil, nil
	return all
}

// fieldsOfType returns the JSON fields of a type or of its list elements; nil if any are possible.
func fieldsOfType(t reflect.Type) fields {
	reads := reflect.TypeFor[json.Unmarshaler]()
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice && !reflect.PointerTo(t).Implements(reads) {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || reflect.PointerTo(t).Implements(reads) {
		return nil
	}
	all := make(fields)
	for i := range t.NumField() {
		f := t.Field(i)
		switch name, _, _ := strings.Cut(f.Tag.Get("json"), ","); {
		case name == "" && f.Anonymous:
			maps.Copy(all, fieldsOfType(f.Type))
		case name != "-":
			all[cmp.Or(name, f.Name)] = fieldsOfType(f.Type)
		}
	}
	return all
}

// maxUnknown bounds the fields of an object that a message names, maxFieldName the octets of each
// name.
const (
	maxUnknown   = 4
	maxFieldName = 64
)

// unknownFields lists an object's fields that its kind does not have; "" for none.
func unknownFields(kind api.Kind, value []byte) string {
	walk, found := jsonwalk.Of(value), []string(nil)
	knownFields[kind].unknown(&walk, "", &found)
	if n := len(found) - maxUnknown; n > 0 {
		found = append(found[:maxUnknown], fmt.Sprintf("and %d more", n))
	}
	return strings.Join(found, ", ")
}

// unknown appends the paths of the next value's fields that k lacks to found.
func (k fields) unknown(walk *jsonwalk.Walker, path string, found *[]string) {
	switch {
	case k == nil:
	case walk.Next() == '[':
		for i := range walk.Elements {
			k.unknown(walk, fmt.Sprintf("%s[%d]", path, i), found)
		}
	case walk.Next() == '{':
		for name := range walk.Fields {
			of, known := k[string(name)]
			if known && of == nil {
				continue
			}
			at := strings.TrimPrefix(path+"."+api.Cut(string(name), maxFieldName), ".")
			if !known {
				*found = append(*found, at)
			} else {
				of.unknown(walk, at, found)
			}
		}
	}
}
