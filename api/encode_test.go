package api

import (
	"bytes"
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
)

// reread returns an object as it is read back after it was written.
func reread(t *testing.T, kind Kind, object any) any {
	t.Helper()
	var text bytes.Buffer
	if err := Encode(&text, object); err != nil {
		t.Fatalf("write %+v: %v", object, err)
	}
	if bytes.IndexByte(text.Bytes(), '\n') >= 0 {
		t.Errorf("more than one line: %s", text.Bytes())
	}
	c := &Cluster{Name: object.(Object).Metadata().Cluster}
	l := NewLoader(c)
	if err := l.Add(kind, text.Bytes()); err != nil {
		t.Fatalf("read %s: %v", text.Bytes(), err)
	}
	l.Done()
	all := slices.Collect(c.All(kind))
	if len(all) != 1 {
		t.Fatalf("%d objects from %s", len(all), text.Bytes())
	}
	return all[0]
}

// written returns what is to be read back of an object.
func written(object any) any {
	if s, ok := object.(*Secret); ok {
		kept := *s
		kept.Headers, kept.Invalid, kept.Unlabelled = nil, "", true
		return &kept
	}
	return object
}

// CheckReread checks that an object is read back as it was written.
func CheckReread(t *testing.T, object any) {
	t.Helper()
	for kind, o := range zeros() {
		if reflect.TypeOf(o) == reflect.TypeOf(object) {
			checkReread(t, Kind(kind), object)
		}
	}
}

func checkReread(t *testing.T, kind Kind, object any) {
	t.Helper()
	if got, want := reread(t, kind, object), written(object); !reflect.DeepEqual(got, want) {
		t.Errorf("%s is read back as\n%#v\nand was\n%#v", kind, got, want)
	}
}

// zeros are empty objects of all kinds.
func zeros() [NumKinds]any {
	return [NumKinds]any{
		new(Gateway), new(DNSPolicy), new(HealthCheckProbe), new(Zone), new(Record), new(DNSRecord), new(DNSEndpoint), new(Secret),
	}
}

// examples are objects of all kinds in which every field is set.
func examples(t *testing.T) [NumKinds]any {
	all := zeros()
	for _, o := range all {
		fill(t, reflect.ValueOf(o).Elem(), "")
		m := o.(Object).Metadata()
		m.Name, m.Cluster = "ns/name", "c"
	}
	all[KindZone].(*Zone).index()
	s := all[KindSecret].(*Secret)
	s.Meta = Meta{Name: s.Name, Cluster: s.Cluster, UID: s.UID, Created: s.Created, Labels: s.Labels} // as DecodeSecret has it
	return all
}

// derived are fields that follow from others, or that are not written.
var derived = []string{"Zone.to", "Meta.Missing"}

// fill sets every field to something that is not zero. It fails where it does not know how:
// whoever adds a field of a new type says here what stands for any, and in encode.go how it
// is written.
func fill(t *testing.T, v reflect.Value, at string) {
	t.Helper()
	if r, ok := labels.NewRequirement("k", selection.NotIn, []string{"b", "a"}); ok == nil && v.Type() == reflect.TypeFor[labels.Selector]() {
		v.Set(reflect.ValueOf(labels.NewSelector().Add(*r)))
		return
	}
	switch v.Interface().(type) {
	case netip.Prefix:
		v.Set(reflect.ValueOf(netip.MustParsePrefix("192.0.2.0/24")))
		return
	case time.Duration:
		v.Set(reflect.ValueOf(1500 * time.Millisecond))
		return
	case Attributes:
		var a Attributes
		for x := range NumAttributes {
			a.set(x, 1)
		}
		v.Set(reflect.ValueOf(a))
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Type().Field(i)
			name := v.Type().Name() + "." + f.Name
			switch tag, tagged := f.Tag.Lookup("json"); {
			case slices.Contains(derived, name):
			case !f.Anonymous && f.IsExported() && (!tagged || tag != "-" && !strings.EqualFold(tag, f.Name)):
				t.Errorf("%s has the tag %q: name its member, as the field but for case, so that files of older versions are read", name, tag)
			case !f.IsExported():
				t.Errorf("%s is not exported: it is not written, and has to be made again when an object is read (loadingOf.add)", name)
			default:
				fill(t, v.Field(i), name)
			}
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(t, v.Elem(), at)
	case reflect.Array:
		for i := range v.Len() {
			fill(t, v.Index(i), at)
		}
	case reflect.Slice:
		const n = fewDelegations + 1
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			fill(t, v.Index(i), at)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(t, key, at)
		fill(t, value, at)
		v.SetMapIndex(key, value)
	case reflect.String:
		v.SetString("te\"xt of " + at)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(7)
	case reflect.Uint8, reflect.Uint16, reflect.Uint32:
		v.SetUint(1)
	default:
		t.Errorf("%s is a %s, and this test has nothing of that kind", at, v.Type())
	}
}

// TestEveryFieldIsWritten: objects in which every field is set are read back as they were,
// whatever fields there will be.
func TestEveryFieldIsWritten(t *testing.T) {
	for kind, o := range examples(t) {
		checkReread(t, Kind(kind), o)
	}
}

// TestOddTexts: a text is read back as it is, keys of labels too.
func TestOddTexts(t *testing.T) {
	for _, text := range []string{"\x00\u2028\n", "\ufffd", "é", "", "<&>"} {
		checkReread(t, KindGateway, &Gateway{
			Meta:      Meta{Name: "n/g", Cluster: "c", Labels: map[string]string{text: text}},
			Addresses: []Address{{Type: AddressType(text), Value: text}},
		})
		checkReread(t, KindDNSPolicy, &DNSPolicy{
			Meta: Meta{Name: "n/p", Cluster: "c" + text}, Geo: text,
			HealthCheck: &HealthCheck{Path: text, Interval: time.Second},
		})
	}
}

// TestNoSecretValues: of a Secret nothing is written but what names and selects it, and its
// domain names; what is read back has no headers, and is not taken for one that has none.
func TestNoSecretValues(t *testing.T) {
	s, err := DecodeSecret("c",
		[]byte(`{"metadata":{"namespace":"n","name":"s","uid":"u","labels":{"kuadrant.io/probe-headers":"true"},"annotations":{"kuadrant.io/a":"hidden"}},"type":"hidden","stringData":{"X-Key":"hidden","ZONE_ID":"example.com","DOMAIN_NAME":"*.a.example.com","AWS_SECRET":"hidden"}}`))
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Headers) == 0 {
		s.Headers = []Header{{Name: "X-Key", Value: "hidden"}}
	}
	var text bytes.Buffer
	if err := Encode(&text, s); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(text.String(), "hidden") || strings.Contains(text.String(), "X-Key") {
		t.Errorf("written: %s", text.String())
	}
	again := reread(t, KindSecret, s).(*Secret)
	if !again.Unlabelled || len(again.Headers) != 0 || again.Provider.Domain != "a.example.com." ||
		fmt.Sprint(again.Labels) != fmt.Sprint(s.Labels) {
		t.Errorf("read back as %#v", again)
	}
}

// TestLoaderRefuses: what no decoder gives is refused.
func TestLoaderRefuses(t *testing.T) {
	for _, c := range []struct {
		kind Kind
		text string
	}{
		{KindGateway, ``},
		{KindGateway, `null`},
		{KindGateway, `[]`},
		{KindGateway, `{}`},
		{KindGateway, `{"Name":"n/g"}`},
		{KindGateway, `{"Name":"n/g","Cluster":"d"}`},
		{KindGateway, `{"Name":"n","Cluster":"c"}`},
		{KindGateway, `{"Name":"/g","Cluster":"c"}`},
		{KindGateway, `{"Name":"n/g/h","Cluster":"c"}`},
		{KindGateway, `{"Name":"n/g","Cluster":"c"} {}`},
		{KindGateway, `{"Name":"n/g","Cluster":"c","Name":"n/h"}`},
		{KindGateway, `{"name":"n/g","cluster":"c","more":1}`},
		{KindGateway, `{"name":"n/g","cluster":"c","addresses":[{"kind":"IPAddress","value":"192.0.2.1"}]}`},
		{KindDNSEndpoint, `{"name":"n/e","cluster":"c","endpoints":[{"attributes":{"priority":"256"}}]}`},
		{KindDNSEndpoint, `{"name":"n/e","cluster":"c","endpoints":[{"attributes":{"prio":"1"}}]}`},
		{KindDNSEndpoint, `{"name":"n/e","cluster":"c","endpoints":[{"attributes":{"priority":1}}]}`},
		{KindGateway, `{"Name":"n/g","Cluster":"c","Listeners":[{"Protocol":"udp"}]}`},
		{KindGateway, `{"Name":"n/g","Cluster":"c","Listeners":[{"Protocol":1}]}`},
		{KindDNSPolicy, `{"Name":"n/p","Cluster":"c","Provider":{"Selector":{"Requirements":[{"Key":"a","Operator":"x"}]}}}`},
	} {
		l := NewLoader(&Cluster{Name: "c"})
		if err := l.Add(c.kind, []byte(c.text)); err == nil {
			t.Errorf("%s %s is read", c.kind, c.text)
		}
	}
}
