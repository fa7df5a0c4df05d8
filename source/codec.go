package source

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// codec reads what an API server sends of one kind, in JSON. It stands in for a
// scheme with its serializers: those parse each object of a watch a dozen times,
// and need Go types for every kind and version. One bad object neither costs a
// list its others nor ends a watch (rule 8.1).
type codec struct {
	cluster string
	kind    api.Kind
}

// serializer returns the codec in the form that a REST client takes.
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
	return fmt.Errorf("encode %T: this client only reads", obj)
}

// Decode implements runtime.Decoder. It fills a *metav1.WatchEvent or a
// *wireList; without either it returns a *metav1.Status or a *wire. What it
// returns does not refer to data, but for a WatchEvent's object.
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
	name, value, err := kinds[c.kind].decode(c.cluster, data)
	if err != nil {
		w.err = err
		return w
	}
	w.name, w.value = name, value
	return w
}

// list decodes a list. Anything else must not pass for an empty list.
func (c *codec) list(data []byte, into *wireList) error {
	dec := newDecoder(bytes.NewBuffer(data))
	*into = wireList{}
	var kind string
	for field := range dec.fields() {
		switch field {
		case "kind":
			kind = dec.text()
		case "metadata":
			value, err := dec.ReadValue()
			if err == nil {
				err = json.Unmarshal(value, &into.ListMeta)
			}
			if err != nil {
				return fmt.Errorf("read the list's metadata: %w", err)
			}
		case "items":
			if dec.PeekKind() == '[' {
				dec.err = c.items(dec, into)
			}
		}
	}
	if dec.err == nil && !strings.HasSuffix(kind, "List") {
		dec.err = fmt.Errorf("not a list but %.64q", kind)
	}
	if dec.err != nil {
		return fmt.Errorf("read list: %w", dec.err)
	}
	return nil
}

func (c *codec) items(dec *decoder, into *wireList) error {
	_, err := dec.ReadToken()
	for err == nil && dec.PeekKind() != ']' {
		var value []byte
		if value, err = dec.ReadValue(); err == nil {
			into.Items = append(into.Items, c.wire(value))
		}
	}
	if err == nil {
		_, err = dec.ReadToken()
	}
	return err
}

// readEvent decodes one event of a watch; the object refers to data.
func readEvent(data []byte, into *metav1.WatchEvent) error {
	dec := newDecoder(bytes.NewBuffer(data))
	*into = metav1.WatchEvent{}
	for field := range dec.fields() {
		if field != "type" && field != "object" {
			continue
		}
		value, err := dec.ReadValue()
		switch {
		case err != nil:
			return fmt.Errorf("read watch event: %w", err)
		case field == "type":
			into.Type = stringOf(value)
		default:
			end := int(dec.InputOffset())
			into.Object.Raw = data[end-len(value) : end]
		}
	}
	if dec.err != nil {
		return fmt.Errorf("read watch event: %w", dec.err)
	}
	return nil
}

// maxFrame is the size in bytes above which a watch event is refused, as
// client-go does. etcd holds objects of up to 1.5 MB.
const maxFrame = 16 << 20

// NewFrameReader implements runtime.Framer: each JSON value is a frame.
func (c *codec) NewFrameReader(r io.ReadCloser) io.ReadCloser {
	f := &frames{body: r}
	f.dec = newDecoder(f.limited())
	return f
}

// NewFrameWriter implements runtime.Framer; nothing is ever sent.
func (c *codec) NewFrameWriter(w io.Writer) io.Writer { return w }

// frames reads one JSON value after the other.
type frames struct {
	body io.ReadCloser
	dec  *decoder
	rest []byte // of the value that is being read
	left int    // bytes that the value may still take
}

// limited returns the body, with an end where a value becomes too large.
func (f *frames) limited() io.Reader {
	return readerFunc(func(p []byte) (int, error) {
		if f.left <= 0 {
			return 0, fmt.Errorf("watch event of more than %d bytes", maxFrame)
		}
		n, err := f.body.Read(p[:min(len(p), f.left)])
		f.left -= n
		return n, err
	})
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// Read implements io.Reader as a Framer has to: it returns one value, or, with
// io.ErrShortBuffer, as much of it as there is room for.
func (f *frames) Read(p []byte) (int, error) {
	if len(f.rest) == 0 {
		f.left = maxFrame
		value, err := f.dec.ReadValue()
		switch {
		case errors.Is(err, io.ErrUnexpectedEOF):
			return 0, io.ErrUnexpectedEOF // who watches compares
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
