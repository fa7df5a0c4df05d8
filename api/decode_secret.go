package api

import (
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/net/http/httpguts"
)

const (
	// maxHeaders and maxHeaderBytes bound what a Secret adds to each request:
	// names and values together. Servers commonly accept 8 KiB and 100 headers.
	maxHeaders     = 64
	maxHeaderBytes = 8 << 10
)

// DecodeSecret reads a Secret (v1) of the given cluster from JSON. It returns an error if the text
// is not JSON or names no object. It names what cannot be used in the Secret's Invalid, and in that
// of its Provider. It never quotes a value, and the Secret does not refer to json.
//
// It cuts off one line end after a value: files and shells add it.
func DecodeSecret(cluster string, json []byte) (*Secret, error) {
	var d secretDoc
	var secretType string
	s := new(Secret)
	_, err := decodeObject(&s.Meta, cluster, json, allKeys, func(r *reader, field []byte) {
		switch string(field) {
		case "data":
			d.data = d.read(r, "data", decodeBase64)
		case "stringData":
			d.plain = d.read(r, "stringData", func(text []byte) (string, error) { return string(text), nil })
		case "type":
			secretType, _ = r.word()
		}
	})
	syntax := new(jsontext.SyntacticError)
	switch {
	case errors.As(err, &syntax):
		// The error's text may quote the offending value.
		err = fmt.Errorf("not JSON from byte %d on", syntax.ByteOffset)
	case s.Labels[HeadersLabel] == HeadersOn:
	case strings.Contains(s.Fault, HeadersLabel):
		err = errors.New(`the label ` + HeadersLabel + ` is not a string: in YAML, write "` + HeadersOn + `" in quotes`)
	default:
		s.Unlabelled = true
	}
	if err != nil {
		return nil, fmt.Errorf("decode Secret: %w", err)
	}
	// Annotations may hold the whole Secret, as kubectl applied it.
	s.Meta = Meta{Name: s.Name, Cluster: cluster, UID: s.UID, Created: s.Created, Labels: s.Labels}
	if d.data == nil {
		d.data = d.plain
	} else {
		maps.Copy(d.data, d.plain) // text overrides base64
	}
	s.Provider = provider(secretType, d.data)
	if !s.Unlabelled { // otherwise nothing more of it is read
		s.Headers = d.settle()
		s.Invalid = d.invalid.text
	}
	return s, nil
}

func decodeBase64(text []byte) (string, error) {
	value, err := base64.StdEncoding.AppendDecode(nil, text)
	return string(value), err
}

// secretDoc is a Secret's content as written, by key.
type secretDoc struct {
	data, plain map[string]string
	invalid     notes
}

// read returns the values of a field of the Secret. A null is an empty value, as in Kubernetes.
func (d *secretDoc) read(r *reader, at string, decode func([]byte) (string, error)) map[string]string {
	values := make(map[string]string)
	switch r.next() {
	case 'n':
		return nil // the caller skips it
	case '{':
	default:
		d.invalid.add(at + ": must be an object with keys and values")
		return nil
	}
	for field := range r.fields() {
		key := string(field)
		values[key] = ""
		switch r.next() {
		case 'n':
			continue
		case '"':
		default:
			d.invalid.add(at + " " + ShownKey(key) + ": the value is not a string: in YAML, put quotes around a value such as yes or 12")
			continue
		}
		text, _ := r.raw()
		value, err := decode(text)
		if err != nil {
			d.invalid.add(at + " " + ShownKey(key) + ": the value is not in base64: encode it, or write it under stringData")
			continue
		}
		values[key] = value
	}
	return values
}

// settle returns the headers; none if one of them cannot be sent.
func (d *secretDoc) settle() []Header {
	var headers []Header
	size := 0
	for key, value := range d.data {
		if line, ok := strings.CutSuffix(value, "\n"); ok {
			value = strings.TrimSuffix(line, "\r")
		}
		headers = append(headers, Header{Name: key, Value: value})
		size += len(key) + len(value)
	}
	slices.SortFunc(headers, func(a, b Header) int {
		return cmp.Or(strings.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name)), strings.Compare(a.Name, b.Name))
	})
	switch {
	case len(headers) > maxHeaders:
		d.invalid.add(fmt.Sprintf("%d headers, more than the %d allowed", len(headers), maxHeaders))
	case size > maxHeaderBytes:
		d.invalid.add(fmt.Sprintf("names and values have %d bytes, more than the %d allowed", size, maxHeaderBytes))
	}
	for i, h := range headers {
		if why := h.unusable(); why != "" {
			d.invalid.add("key " + ShownKey(h.Name) + ": " + why)
		} else if i > 0 && strings.EqualFold(h.Name, headers[i-1].Name) {
			d.invalid.add("keys " + ShownKey(headers[i-1].Name) + " and " + ShownKey(h.Name) + " are the same header: remove one")
		}
	}
	if d.invalid.n > 0 {
		return nil
	}
	return headers
}

// framing are the headers that control how a request is framed and forwarded, and to whom: a check
// sets them itself (RFC 9110 §7.6.1, RFC 9112 §6).
var framing = []string{
	"host", "content-length", "transfer-encoding", "connection", "upgrade", "te", "trailer", "keep-alive",
	"http2-settings",
}

// unusable says why the header cannot be sent, "" if it can.
func (h Header) unusable() string {
	name := strings.ToLower(h.Name)
	switch {
	case !httpguts.ValidHeaderFieldName(h.Name):
		return "not a header name: only letters, digits and -_.!#$%&'*+^`|~ (RFC 9110 §5.1)"
	case slices.Contains(framing, name), strings.HasPrefix(name, "proxy-"):
		return "checks set this header themselves, or may not send it"
	case !httpguts.ValidHeaderFieldValue(h.Value):
		return "the value has a line break or another control character"
	}
	return ""
}

// ShownKey returns a key for a message, up to the first character that no header name has: the
// rest, as in a whole line "Name: value", may be secret.
func ShownKey(key string) string {
	for i := range len(key) {
		if !httpguts.IsTokenRune(rune(key[i])) {
			return strconv.Quote(key[:min(i, longestQuote)] + "…")
		}
	}
	return quote(key)
}
