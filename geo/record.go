package geo

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/oschwald/maxminddb-golang/v2/mmdbdata"
)

// record is the part of a database record that is read. The fields are as in the database, in upper
// case.
//
// The content of records, never a name, distinguishes databases, and one record may mix the forms.
// Nested, as in GeoIP2, GeoLite2 and DB-IP: country.iso_code, continent.code,
// subdivisions[0].iso_code, autonomous_system_number, or that under traits in databases of
// providers. Flat, as in the free country databases: country_code or country, continent_code or
// continent, asn ("AS64500", "64500" or a number).
type record struct {
	country, continent, subdivision, as string
}

// maxEntries bounds the entries read of a map or list in a record. The largest known ones, the
// translations of a name, have about ten.
const maxEntries = 1024

// recordFields are the fields of a record that are read.
var recordFields = []string{
	"country", "continent", "subdivisions", "traits",
	"country_code", "continent_code", "autonomous_system_number", "asn",
}

// UnmarshalMaxMindDBCursor reads one record. Each field is read once, and no
// deeper than its form goes, so that the work is bounded by the record's size.
func (r *record) UnmarshalMaxMindDBCursor(c mmdbdata.Cursor) (mmdbdata.Cursor, error) {
	var flat, named record // country_code and its like; country as a string and its like
	var traits string
	next, err := eachEntry(c, recordFields, func(field string, v mmdbdata.Cursor) (mmdbdata.Cursor, error) {
		switch field {
		case "country":
			return readNested(v, &named.country, &r.country, "iso_code")
		case "continent":
			return readNested(v, &named.continent, &r.continent, "code")
		case "subdivisions":
			return readFirst(v, &r.subdivision, "iso_code")
		case "traits":
			return readNested(v, nil, &traits, "autonomous_system_number")
		case "country_code":
			return readText(v, &flat.country)
		case "continent_code":
			return readText(v, &flat.continent)
		case "autonomous_system_number":
			return readText(v, &r.as)
		default: // asn
			return readText(v, &flat.as)
		}
	})
	r.country = cmp.Or(r.country, flat.country, named.country)
	r.continent = cmp.Or(r.continent, flat.continent, named.continent)
	r.as = cmp.Or(r.as, flat.as, traits)
	return next, err
}

// codes returns the record as Codes.
func (r *record) codes() *Codes {
	return FromCodes(r.as, r.subdivision, r.country, r.continent)
}

// eachEntry calls read for each entry of the map at c that is one of fields, at most once for each.
// read must return the cursor after the value. It skips other entries, and values that are no map.
func eachEntry(
	c mmdbdata.Cursor, fields []string, read func(field string, v mmdbdata.Cursor) (mmdbdata.Cursor, error),
) (mmdbdata.Cursor, error) {
	kind, err := c.Kind()
	if err != nil {
		return mmdbdata.Cursor{}, err
	}
	if kind != mmdbdata.KindMap {
		return c.Skip()
	}
	m, err := c.Map()
	if err != nil {
		return mmdbdata.Cursor{}, err
	}
	if m.Size() > maxEntries {
		return mmdbdata.Cursor{}, mmdbdata.NewInvalidDatabaseError("a record has a map of %d entries", m.Size())
	}
	var seen uint // a bit for each of fields
	var next mmdbdata.Cursor
	for {
		name, v, ok := m.Next(next)
		if !ok {
			return m.End()
		}
		i := slices.IndexFunc(fields, func(f string) bool { return f == string(name) })
		if i >= 0 && seen&(1<<i) == 0 {
			seen |= 1 << i
			next, err = read(fields[i], v)
		} else {
			next, err = v.Skip()
		}
		if err != nil {
			return mmdbdata.Cursor{}, err
		}
	}
}

// readNested reads field of the map at c into nested. If c is a string and text is not nil, it
// reads that into text.
func readNested(c mmdbdata.Cursor, text, nested *string, field string) (mmdbdata.Cursor, error) {
	kind, err := c.Kind()
	if err != nil {
		return mmdbdata.Cursor{}, err
	}
	if kind != mmdbdata.KindMap && text != nil {
		return readText(c, text)
	}
	return eachEntry(c, []string{field}, func(_ string, v mmdbdata.Cursor) (mmdbdata.Cursor, error) {
		return readText(v, nested)
	})
}

// readFirst reads field of the first map in the list at c.
func readFirst(c mmdbdata.Cursor, to *string, field string) (mmdbdata.Cursor, error) {
	kind, err := c.Kind()
	if err != nil {
		return mmdbdata.Cursor{}, err
	}
	if kind != mmdbdata.KindSlice {
		return c.Skip()
	}
	list, err := c.Slice()
	if err != nil {
		return mmdbdata.Cursor{}, err
	}
	if size, err := list.Size(); err != nil || size > maxEntries {
		return mmdbdata.Cursor{}, mmdbdata.NewInvalidDatabaseError("a record has a list of %d entries", size)
	}
	var next mmdbdata.Cursor
	for {
		i, v, ok := list.Next(next)
		if !ok {
			return list.End()
		}
		if i == 0 {
			next, err = readNested(v, nil, to, field)
		} else {
			next, err = v.Skip()
		}
		if err != nil {
			return mmdbdata.Cursor{}, err
		}
	}
}

// maxText is the longest code considered, in octets; anything longer is a name.
const maxText = 16

// readText reads the string or number at c. It skips anything else, and longer text.
func readText(c mmdbdata.Cursor, to *string) (mmdbdata.Cursor, error) {
	kind, err := c.Kind()
	if err != nil {
		return mmdbdata.Cursor{}, err
	}
	switch kind {
	case mmdbdata.KindString:
		s, next, err := c.ReadString()
		if err != nil {
			return mmdbdata.Cursor{}, err
		}
		if len(s) <= maxText {
			*to = strings.ToUpper(s)
		}
		return next, nil
	case mmdbdata.KindUint16, mmdbdata.KindUint32, mmdbdata.KindUint64:
		n, next, err := c.ReadUint()
		if err != nil {
			return mmdbdata.Cursor{}, err
		}
		*to = strconv.FormatUint(n, 10)
		return next, nil
	}
	return c.Skip()
}
