package source

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/internal/jsonwalk"
)

// codec reads an API server's JSON for one kind. It replaces a scheme with its serializers: those
// parse each object of a watch a dozen times, and need Go types for every kind and version. A bad
// object neither costs a list its other objects nor ends a watch (rule 8.1).
type codec struct {
	cluster  string
	kind     api.Kind
	pools    api.Pools
	observer Observer // nil for none
	// decode reads objects that no cluster holds; nil for the kind's own.
	decode func(data []byte) (value any, err error)
}

// serializer returns the codec in the form that a REST client needs.
func (c *codec) serializer() runtime.NegotiatedSerializer {
	return runtime.NewSimpleNegotiatedSerializer(runtime.SerializerInfo{
		MediaType: "application/json", MediaTypeType: "application", MediaTypeSubType: "json",
		EncodesAsText:    true,
		Serializer:       c,
		StreamSerializer: &runtime.StreamSerializerInfo{EncodesAsText: true, Serializer: c, Framer: c},
	})
}

// Identifier implements runtime.Encoder.
func (c *codec) Identifier() runtime.Identifier { return "kuadrant" }

// Encode implements runtime.Encoder; nothing is ever sent.
func (c *codec) Encode(obj runtime.Object, _ io.Writer) error {
	return fmt.Errorf("encode %T: this client is read-only", obj)
}

// Decode implements runtime.Decoder. It fills a *metav1.WatchEvent or a *wireList; without either
// it returns a *metav1.Status or a *wire. Only a WatchEvent's object refers to data.
func (c *codec) Decode(data []byte, _ *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	var err error
	switch into := into.(type) {
	case nil:
		into, err := c.object(data)
		return into, nil, err
	case *metav1.WatchEvent:
		err = readEvent(data, into)
	case *wireList:
		err = c.list(data, into)
	default:
		err = fmt.Errorf("decode into %T: not supported", into)
	}
	return into, nil, err
}

// object decodes one object.
func (c *codec) object(data []byte) (runtime.Object, error) {
	if kindField(data) == "Status" {
		status := new(metav1.Status)
		err := json.Unmarshal(data, status)
		return status, err
	}
	return c.wire(data), nil
}

// wire decodes one object or bookmark of the codec's kind.
func (c *codec) wire(data []byte) *wire {
	w := readWire(data)
	if w.name == "" {
		return w // a bookmark
	}
	if c.decode != nil {
		w.value, w.err = c.decode(data)
		return w
	}
	if kinds[c.kind].byName {
		w.value = secretHead{version(w.version), readLabels(data)}
		return w
	}
	name, value, err := kinds[c.kind].decode(c.cluster, data)
	if err != nil {
		w.err = err
		return w
	}
	c.pools.Mark(value.(api.Object))
	if w.name, w.value = name, value; c.observer != nil {
		w.seen = c.observer.Read(c.kind, data)
	}
	return w
}

// list decodes a list. It fails unless data is a list: nothing else may pass for an empty one.
func (c *codec) list(data []byte, into *wireList) error {
	walk := jsonwalk.Of(data)
	*into = wireList{}
	var kind string
	for field := range walk.Fields {
		switch string(field) {
		case "kind":
			kind = textOf(&walk)
		case "metadata":
			if value := walk.Value(); value != nil {
				if err := json.Unmarshal(value, &into.ListMeta); err != nil {
					return fmt.Errorf("read the list's metadata: %w", err)
				}
			}
		case "items":
			for range walk.Elements {
				if value := walk.Value(); value != nil {
					into.Items = append(into.Items, c.wire(value))
				}
			}
		}
	}
	switch {
	case errors.Is(walk.Err, io.ErrUnexpectedEOF):
		return fmt.Errorf("read list: %w", walk.Err)
	case walk.Err != nil:
		return fmt.Errorf("read list: %w: %w", errStranger, walk.Err)
	case !strings.HasSuffix(kind, "List"):
		return fmt.Errorf("read list: %w: not a list but a %.64q", errStranger, kind)
	}
	return nil
}

// readEvent decodes one event of a watch; the object refers to data.
func readEvent(data []byte, into *metav1.WatchEvent) error {
	walk := jsonwalk.Of(data)
	*into = metav1.WatchEvent{}
	for field := range walk.Fields {
		switch string(field) {
		case "type":
			into.Type = textOf(&walk)
		case "object":
			value := walk.Value()
			end := int(walk.InputOffset())
			into.Object.Raw = data[end-len(value) : end]
		}
	}
	if walk.Err != nil {
		return fmt.Errorf("read watch event: %w", walk.Err)
	}
	return nil
}

// maxFrame bounds a watch event, in bytes, as in client-go. etcd holds objects of up to 1.5 MB.
const maxFrame = 16 << 20

// NewFrameReader implements runtime.Framer: each JSON value is a frame.
func (c *codec) NewFrameReader(r io.ReadCloser) io.ReadCloser {
	f := &frames{body: r}
	f.walk = jsonwalk.New((*limited)(f))
	return f
}

// NewFrameWriter implements runtime.Framer; nothing is ever sent.
func (c *codec) NewFrameWriter(w io.Writer) io.Writer { return w }

// frames reads consecutive JSON values.
type frames struct {
	body io.ReadCloser
	walk jsonwalk.Walker
	rest []byte // of the value being read
	left int    // bytes that the value may still take
}

// limited is the body of frames; it ends if a value becomes too large.
type limited frames

// Read implements io.Reader.
func (f *limited) Read(p []byte) (int, error) {
	if f.left <= 0 {
		return 0, fmt.Errorf("watch event of more than %d bytes", maxFrame)
	}
	n, err := f.body.Read(p[:min(len(p), f.left)])
	f.left -= n
	return n, err
}

// Read implements io.Reader as a Framer must: it returns one value, or, with io.ErrShortBuffer, as
// much as fits.
func (f *frames) Read(p []byte) (int, error) {
	if len(f.rest) == 0 {
		f.left = maxFrame
		value, err := f.walk.ReadValue()
		switch {
		case errors.Is(err, io.ErrUnexpectedEOF):
			return 0, io.ErrUnexpectedEOF // watchers compare with this error
		case err != nil:
			return 0, err
		}
		f.rest = value
	}
	n := copy(p, f.rest)
	f.rest = f.rest[n:]
	if len(f.rest) > 0 {
		return n, io.ErrShortBuffer
	}
	return n, nil
}

// Close implements io.Closer.
func (f *frames) Close() error { return f.body.Close() }
