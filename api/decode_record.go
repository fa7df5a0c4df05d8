package api

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"
)

// DecodeRecord reads a Record (kubi.zone/v1alpha1) of the given cluster from JSON, like DecodePolicy.
func DecodeRecord(cluster string, json []byte) (*Record, error) {
	rec := new(Record)
	var d recordDoc
	_, err := decodeObject(&rec.Meta, cluster, json, nil, func(r *reader, field []byte) {
		if string(field) == "spec" {
			d = recordDoc{}
			r.recordSpec(&d)
		}
	})
	if err != nil {
		return nil, fmt.Errorf("decode Record: %w", err)
	}
	rec.Invalid = d.settle(rec)
	return rec, nil
}

// recordDoc is a Record's spec as written; a nil field is not set.
type recordDoc struct {
	placeDoc
	rtype, class string
	rdata        *string
	ttl          *int64
	// typeWrong and dataWrong say why type and rdata cannot be read; "" if they can.
	typeWrong, dataWrong string
}

func (r *reader) recordSpec(d *recordDoc) {
	for field := range r.fields() {
		switch string(field) {
		case "type":
			d.typeWrong = r.required(func() { d.rtype = r.typeName() })
		case "class":
			d.class = r.upperWord()
		case "ttl":
			d.ttl = r.optionalInteger()
		case "rdata":
			d.rdata = nil
			d.dataWrong = r.required(func() {
				if b, ok := r.raw(); ok {
					text := datas.intern(b)
					d.rdata = &text
				}
			})
		default:
			r.placeField(&d.placeDoc, field)
		}
	}
}

// upperWord is word in upper case, "" if the next value is no string.
func (r *reader) upperWord() string {
	b, _ := r.raw()
	return words.intern(bytes.ToUpper(b))
}

// typeName returns the next value, a record type, in the spelling of TypeName; "" if it is no string.
func (r *reader) typeName() string {
	text, _ := r.raw()
	return TypeName(string(text))
}

// settle completes the Record from its text, and returns what is not acceptable in it. Whether the
// type and the data are valid is checked where the zone is known.
func (d *recordDoc) settle(rec *Record) string {
	var invalid notes
	rec.DomainName, rec.Parent = d.placeDoc.settle(&rec.Meta, &invalid)
	if strings.HasSuffix(rec.Name, rec.DomainName) {
		// One string: they often agree, and there may be a million Records.
		rec.DomainName = rec.Name[len(rec.Name)-len(rec.DomainName):]
	}
	rec.Type, rec.Class = d.rtype, cmp.Or(d.class, "IN")
	switch {
	case d.typeWrong != "":
		invalid.add(d.typeWrong)
	case rec.Type == "":
		invalid.add("spec.type is missing: write the type of the record, such as A")
	}
	switch {
	case d.dataWrong != "":
		invalid.add(d.dataWrong)
	case d.rdata == nil:
		invalid.add("spec.rdata is missing: write the data of the record, such as 192.0.2.1")
	default:
		rec.RData = *d.rdata
	}
	rec.TTL = settleSeconds("ttl", d.ttl, NoTTL, &invalid)
	return invalid.text
}
