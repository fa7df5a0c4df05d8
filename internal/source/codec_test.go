package source

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/serializer/streaming"
	"k8s.io/client-go/rest/watch"

	"github.com/coredns-kuadrant/kuadrant/api"
)

const gatewayJSON = `{"apiVersion":"gateway.networking.k8s.io/v1","kind":"Gateway","metadata":{"annotations":{"a":"b"},"managedFields":[{"x":{}}],"name":"g","namespace":"a","resourceVersion":"5","uid":"u"},"status":{"addresses":[{"value":"192.0.2.1"}]}}`

func gatewayCodec() *codec { return &codec{cluster: "c", kind: api.KindGateway} }

func TestCodecObject(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       wire // without its value
		value      bool
		err        bool
	}{
		{"gateway", gatewayJSON, wire{name: "a/g", version: "5"}, true, false},
		{"bookmark", `{"kind":"Gateway","metadata":{"resourceVersion":"7"}}`, wire{version: "7"}, false, false},
		{
			"last initial event", `{"kind":"Gateway","metadata":{"annotations":{"k8s.io/initial-events-end":"true"},"resourceVersion":"7"}}`,
			wire{version: "7", last: true},
			false, false,
		},
		{"annotation of that name with another value", `{"metadata":{"annotations":{"k8s.io/initial-events-end":"no"}}}`, wire{}, false, false},
		{"annotations of another type", `{"metadata":{"annotations":"k8s.io/initial-events-end"}}`, wire{}, false, false},
		{"escapes", `{"metadata":{"n\u0061me":"\u0067","namespace":"a"}}`, wire{name: "a/g"}, true, false},
		{"wrong types", `{"metadata":{"name":"g","namespace":"a","resourceVersion":5},"spec":[],"status":1}`, wire{name: "a/g"}, true, false},
		{"name not allowed", `{"metadata":{"name":"G","namespace":"a"}}`, wire{name: "a/G"}, false, true},
		{"no metadata", `{"spec":{}}`, wire{}, false, false},
		{"metadata of another type", `{"metadata":[]}`, wire{}, false, false},
		{"null", `null`, wire{}, false, false},
		{"nothing", ``, wire{}, false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			obj, _, err := gatewayCodec().Decode([]byte(tt.text), nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			w := obj.(*wire)
			if (w.value != nil) != tt.value || (w.err != nil) != tt.err {
				t.Errorf("value %v, error %v", w.value, w.err)
			}
			if g, ok := w.value.(*api.Gateway); ok && (g.Cluster != "c" || g.Name != w.name) {
				t.Errorf("%+v", g)
			}
			m := w.GetObjectMeta()
			if key := m.GetNamespace() + "/" + m.GetName(); w.name != "" && key != w.name || m.GetResourceVersion() != w.version {
				t.Errorf("the metadata say %q, %q", key, m.GetResourceVersion())
			}
			if got := m.GetAnnotations()[metav1.InitialEventsAnnotationKey]; (got == "true") != w.last {
				t.Errorf("annotation %q", got)
			}
			w.value, w.err = nil, nil
			if *w != tt.want {
				t.Errorf("got %+v, want %+v", *w, tt.want)
			}
		})
	}
}

func TestCodecStatus(t *testing.T) {
	for _, text := range []string{
		`{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"m","code":410}`,
		`{"apiVersion":"v1","code":410,"metadata":{},"kind":"Status","status":"Failure"}`,
	} {
		obj, _, err := gatewayCodec().Decode([]byte(text), nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		if s, ok := obj.(*metav1.Status); !ok || s.Code != 410 || s.Status != metav1.StatusFailure {
			t.Errorf("got %+v", obj)
		}
	}
}

func TestCodecList(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       []string
		version    string
		err        string
	}{
		{"empty", `{"kind":"GatewayList","metadata":{"resourceVersion":"3"},"items":[]}`, nil, "3", ""},
		{"no items", `{"kind":"GatewayList","metadata":{"resourceVersion":"3"},"items":null}`, nil, "3", ""},
		{
			"items", `{"items":[` + gatewayJSON +
				`,{"metadata":{"name":"h","namespace":"b"},"spec":7},null,5],"kind":"GatewayList","metadata":{"continue":"x"}}`,
			[]string{"a/g", "b/h", "", ""},
			"", "",
		},
		{"another kind", `{"kind":"Gateway","metadata":{}}`, nil, "", "not a list"},
		{"a status", `{"kind":"Status"}`, nil, "", "not a list"},
		{"not an object", `[]`, nil, "", "not a list"},
		{"null", `null`, nil, "", "not a list"},
		{"truncated", `{"kind":"GatewayList","items":[` + gatewayJSON, nil, "", "EOF"},
		{"truncated in an item", `{"kind":"GatewayList","items":[` + gatewayJSON[:50], nil, "", "EOF"},
		{"nothing", ``, nil, "", "EOF"},
		{"wrong metadata", `{"kind":"GatewayList","metadata":5,"items":[]}`, nil, "", "metadata"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			list := new(wireList)
			_, _, err := gatewayCodec().Decode([]byte(tt.text), nil, list)
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Errorf("error %v, want %q", err, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, w := range list.Items {
				got = append(got, w.name)
			}
			if !slices.Equal(got, tt.want) || list.ResourceVersion != tt.version {
				t.Errorf("items %q, version %q", got, list.ResourceVersion)
			}
		})
	}
}

func TestCodecRefuses(t *testing.T) {
	c := gatewayCodec()
	if _, _, err := c.Decode([]byte(`{}`), nil, &metav1.PartialObjectMetadata{}); err == nil {
		t.Error("decoded into a type of somebody else")
	}
	if err := c.Encode(&wire{}, io.Discard); err == nil {
		t.Error("encoded")
	}
}

// TestCodecWatch reads events as client-go does, from bodies that arrive in pieces of all sizes.
func TestCodecWatch(t *testing.T) {
	big := strings.Replace(gatewayJSON, `"a":"b"`, `"a":"`+strings.Repeat("x", 5000)+`"`, 1)
	text := `{"type":"ADDED","object":` + gatewayJSON + "}\n" +
		`{"object":` + big + `,"type":"MODIFIED"}` +
		`{"type":"BOOKMARK","object":{"kind":"Gateway","metadata":{"annotations":{"k8s.io/initial-events-end":"true"},"resourceVersion":"9"}}}` +
		"\n\n" +
		`{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","code":410,"status":"Failure"}}` + "\n"
	for name, r := range map[string]io.Reader{
		"at once":        strings.NewReader(text),
		"byte by byte":   iotest.OneByteReader(strings.NewReader(text)),
		"in halves":      iotest.HalfReader(strings.NewReader(text)),
		"with the end":   iotest.DataErrReader(strings.NewReader(text)),
		"then it fails":  io.MultiReader(strings.NewReader(text), iotest.ErrReader(io.ErrClosedPipe)),
		"then it is cut": io.MultiReader(strings.NewReader(text + `{"type":"AD`)),
	} {
		t.Run(name, func(t *testing.T) {
			c := gatewayCodec()
			d := watch.NewDecoder(streaming.NewDecoder(c.NewFrameReader(io.NopCloser(r)), c), c)
			var got []string
			for {
				event, obj, err := d.Decode()
				if err != nil {
					want := map[string]error{"then it fails": io.ErrClosedPipe, "then it is cut": io.ErrUnexpectedEOF}[name]
					if want == nil {
						want = io.EOF
					}
					if err != want && (want != io.ErrClosedPipe || !errors.Is(err, want)) {
						t.Errorf("the end is %v, want %v", err, want)
					}
					break
				}
				switch obj := obj.(type) {
				case *wire:
					got = append(got, fmt.Sprint(event, obj.name, obj.version, obj.last, obj.value != nil))
				case *metav1.Status:
					got = append(got, fmt.Sprint(event, obj.Code))
				}
			}
			want := []string{"ADDEDa/g5falsetrue", "MODIFIEDa/g5falsetrue", "BOOKMARK9truefalse", "ERROR410"}
			for i := range got {
				got[i] = strings.ReplaceAll(got[i], " ", "")
			}
			if !slices.Equal(got, want) {
				t.Errorf("got %q, want %q", got, want)
			}
			d.Close()
		})
	}
}

// endless is a body whose one JSON value never ends.
type endless struct{ read int }

func (e *endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	if e.read == 0 {
		p[0] = '"'
	}
	e.read += len(p)
	return len(p), nil
}

func TestCodecFrameIsBounded(t *testing.T) {
	body := &endless{}
	_, err := io.ReadAll(gatewayCodec().NewFrameReader(io.NopCloser(body)))
	if err == nil || !strings.Contains(err.Error(), "more than") || body.read > 2*maxFrame {
		t.Errorf("read %d bytes, then %v", body.read, err)
	}
}

func FuzzCodec(f *testing.F) {
	f.Add([]byte(gatewayJSON))
	f.Add([]byte(`{"kind":"GatewayList","metadata":{"resourceVersion":"3"},"items":[` + gatewayJSON + `,null]}`))
	f.Add([]byte(`{"type":"ADDED","object":` + gatewayJSON + `}{"type":"ERROR","object":{"kind":"Status"}}`))
	f.Add([]byte(`{"metadata":{"annotations":{"k8s.io/initial-events-end":"true"}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		for kind := range api.NumKinds {
			c := &codec{cluster: "c", kind: kind}
			if obj, _, err := c.Decode(data, nil, nil); err == nil {
				if w, ok := obj.(*wire); ok && w.GetObjectMeta() == nil {
					t.Error("no metadata")
				}
			}
			list := new(wireList)
			if _, _, err := c.Decode(data, nil, list); err == nil && slices.Contains(list.Items, nil) {
				t.Error("a list with holes")
			}
			d := watch.NewDecoder(streaming.NewDecoder(c.NewFrameReader(io.NopCloser(bytes.NewReader(data))), c), c)
			for n := 0; ; n++ {
				if _, _, err := d.Decode(); err != nil {
					break
				}
				if n > len(data) {
					t.Fatal("more events than bytes")
				}
			}
		}
	})
}

// TestCodecOfSecrets checks that a whole Secret is refused if only metadata was requested.
func TestCodecOfSecrets(t *testing.T) {
	c := &codec{cluster: "c", kind: api.KindSecret}
	text := `{"kind":"Secret","metadata":{"namespace":"ns","name":"a","resourceVersion":"7"},"stringData":{"a":"` + password + `"}}`
	obj, _, err := c.Decode([]byte(text), nil, nil)
	if w, ok := obj.(*wire); err != nil || !ok || w.name != "ns/a" || !reflect.DeepEqual(w.value, secretHead{version: "7"}) {
		t.Errorf("%+v, %v", obj, err)
	}
}
