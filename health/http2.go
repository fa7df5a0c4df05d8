package health

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// What ends an exchange over HTTP/2, besides the errors of the connection.
var (
	errRefused  = errors.New("the server takes no request on this connection")
	errProtocol = errors.New("not an answer of the protocol")
	errTooMuch  = errors.New("the answer has too many frames")
)

// Bounds of one answer over HTTP/2: octets of all kinds, and frames.
const (
	maxStream    = maxHeader + maxBody + 64<<10
	maxFrames    = 1 << 12
	maxFrameSize = 1 << 14 // RFC 9113 §4.2: none is larger unless we say so
)

// onlyStream is the stream of the one request on a connection.
const onlyStream = 1

// stream is one request over HTTP/2 and its answer (RFC 9113). A http2.Transport
// would connect again where the server does not like the connection, and logs what
// servers do wrong.
type stream struct {
	target *Target
	out    *bufio.Writer
	framer *http2.Framer
	status int // 0 before the answer has begun
	body   int // octets of it so far
}

// over2 asks for the path over HTTP/2 on a connection that TLS has agreed on it for.
func (t *Target) over2(ctx context.Context, conn net.Conn, req *http.Request) Outcome {
	s := &stream{target: t, out: bufio.NewWriterSize(conn, bufferSize)}
	in := bufio.NewReaderSize(io.LimitReader(conn, maxStream), bufferSize)
	s.framer = http2.NewFramer(s.out, in)
	s.framer.SetMaxReadFrameSize(maxFrameSize)
	s.framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	s.framer.MaxHeaderListSize = maxHeader
	err := s.ask(req)
	for n := 0; err == nil; n++ {
		if n == maxFrames {
			err = errTooMuch
			break
		}
		var f http2.Frame
		if f, err = s.framer.ReadFrame(); err == nil {
			var done bool
			if done, err = s.take(f); done {
				break
			}
		}
	}
	switch {
	case s.status == 0:
		return Outcome{Reason: s.reason(ctx, err)}
	case !t.expects(s.status):
		return Outcome{Reason: StatusCode, Status: s.status}
	case err != nil && ctx.Err() != nil: // as in judge
		return Outcome{Reason: reasonOf(ctx, err), Status: s.status}
	}
	return Outcome{Status: s.status}
}

// reason returns what an error before the answer means.
func (s *stream) reason(ctx context.Context, err error) Reason {
	switch {
	case err == nil, errors.Is(err, errProtocol), errors.Is(err, errTooMuch):
		return BadAnswer
	case errors.Is(err, errRefused):
		return ConnectionReset
	}
	return reasonOf(ctx, err)
}

// ask writes the preface, our settings and the request.
func (s *stream) ask(req *http.Request) error {
	_, _ = s.out.WriteString(http2.ClientPreface) // the flush has the error
	_ = s.framer.WriteSettings(
		http2.Setting{ID: http2.SettingEnablePush, Val: 0},
		http2.Setting{ID: http2.SettingInitialWindowSize, Val: maxBody},
		http2.Setting{ID: http2.SettingMaxHeaderListSize, Val: maxHeader},
	)
	_ = s.framer.WriteWindowUpdate(0, maxBody-65535) // beyond what a connection begins with
	block := headerBlock(req)
	first := true
	for first || len(block) > 0 {
		part := block[:min(len(block), maxFrameSize)]
		block = block[len(part):]
		if first {
			_ = s.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: onlyStream, BlockFragment: part, EndStream: true, EndHeaders: len(block) == 0})
		} else {
			_ = s.framer.WriteContinuation(onlyStream, len(block) == 0, part)
		}
		first = false
	}
	return s.out.Flush()
}

// headerBlock returns the request's header fields in their compressed form.
func headerBlock(req *http.Request) []byte {
	var block bytes.Buffer
	enc := hpack.NewEncoder(&block)
	field := func(name, value string) { _ = enc.WriteField(hpack.HeaderField{Name: name, Value: value}) }
	field(":method", req.Method)
	field(":scheme", req.URL.Scheme)
	field(":authority", req.Host)
	field(":path", req.URL.RequestURI())
	for name, values := range req.Header {
		switch name {
		case "Connection", "Keep-Alive", "Proxy-Connection", "Transfer-Encoding", "Upgrade", "Te", "Host", "Content-Length", "Trailer":
			continue // RFC 9113 §8.2.2, and what HTTP/1.1 leaves out too
		}
		for _, v := range values {
			field(strings.ToLower(name), v)
		}
	}
	return block.Bytes()
}

// take takes in one frame of the server's. done tells that the answer has been read
// as far as it is read.
func (s *stream) take(f http2.Frame) (done bool, err error) {
	switch f := f.(type) {
	case *http2.SettingsFrame:
		if f.IsAck() {
			return false, nil
		}
		_ = s.framer.WriteSettingsAck()
		_ = s.out.Flush() // its answer may be here already, whatever becomes of this
	case *http2.PingFrame:
		if f.IsAck() {
			return false, nil
		}
		_ = s.framer.WritePing(true, f.Data)
		_ = s.out.Flush()
	case *http2.GoAwayFrame:
		if f.LastStreamID < onlyStream {
			return false, errRefused
		}
	case *http2.RSTStreamFrame:
		return false, errRefused
	case *http2.PushPromiseFrame:
		return false, errProtocol // nobody wants any
	case *http2.MetaHeadersFrame:
		return s.headers(f)
	case *http2.DataFrame:
		if f.StreamID != onlyStream || s.status == 0 {
			return false, errProtocol
		}
		s.body += int(f.Length) // padding too: the window counts it (RFC 9113 §6.1)
		return f.StreamEnded() || s.body >= maxBody, nil
	}
	return false, nil
}

// headers takes in the header of an answer, an interim one too, or a trailer.
func (s *stream) headers(f *http2.MetaHeadersFrame) (done bool, err error) {
	switch {
	case f.StreamID != onlyStream:
		return false, errProtocol
	case s.status != 0:
		return f.StreamEnded(), nil
	case f.Truncated:
		return false, errHeader
	}
	text := f.PseudoValue("status")
	status, err := strconv.Atoi(text)
	if err != nil || len(text) != 3 || status < 100 {
		return false, errProtocol
	}
	if status < 200 { // an interim answer (RFC 9110 §15.2)
		if f.StreamEnded() {
			return false, errProtocol
		}
		return false, nil
	}
	s.status = status
	return f.StreamEnded(), nil
}
