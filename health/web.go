package health

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	h2 "golang.org/x/net/http2"
)

const (
	// maxBody bounds what is read of a body: the server should see that its answer was read, and an
	// endless body must end (rule 4.2). maxHeader bounds the header.
	maxBody   = 64 << 10
	maxHeader = 64 << 10
	// maxAnswer bounds all octets of a connection: a server may send endless HTTP/2 frames that are
	// neither header nor body.
	maxAnswer = maxHeader + maxBody + 64<<10
	// bufferSize holds a usual request, or the header of a usual answer.
	bufferSize = 1 << 10
)

// web requests the path over HTTP, and judges by the status.
func (c *connector) web(ctx context.Context, t *Target, to string) Outcome {
	req, err := t.request(ctx, http.MethodGet, t.Path, nil)
	if err != nil {
		return Outcome{Reason: BadAnswer}
	}
	for _, h := range t.Values {
		req.Header.Set(h.Name, h.Value)
	}
	return c.exchange(t, to, req, func(resp *http.Response) Outcome {
		if !t.expects(resp.StatusCode) {
			return Outcome{Reason: StatusCode, Status: resp.StatusCode}
		}
		// The status has decided: a body that breaks off changes nothing. One that outlasts the
		// whole check may.
		if _, err := io.Copy(io.Discard, io.LimitReader(resp.Body, maxBody)); err != nil && ctx.Err() != nil {
			return Outcome{Reason: reasonOf(ctx, err), Status: resp.StatusCode}
		}
		return Outcome{Status: resp.StatusCode}
	})
}

// exchange connects, sends the request, and calls judge on the answer. It follows no redirect.
func (c *connector) exchange(t *Target, to string, req *http.Request, judge func(*http.Response) Outcome) Outcome {
	ctx := req.Context()
	conn, http2, err := c.connect(ctx, t, to)
	if err != nil {
		return Outcome{Reason: reasonOf(ctx, err)}
	}
	defer conn.Close()
	// Reads and writes that the Transport does not cancel also end with ctx.
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	var dialled atomic.Bool
	dial := func(context.Context, string, string) (net.Conn, error) {
		if dialled.Swap(true) {
			return nil, io.ErrUnexpectedEOF // one connection per check, whatever the server does
		}
		return conn, nil
	}
	var protocols http.Protocols
	protocols.SetHTTP1(!http2)
	protocols.SetUnencryptedHTTP2(http2) // the Transport does not know of TLS
	transport := &http.Transport{
		DialContext: dial, DialTLSContext: dial, Protocols: &protocols,
		DisableCompression: true, MaxResponseHeaderBytes: maxHeader,
		ReadBufferSize: bufferSize, WriteBufferSize: bufferSize,
		// With HTTP/2 the connection should end as an idle one: net/http keeps the state of others
		// for five seconds.
		DisableKeepAlives: !http2,
	}
	defer transport.CloseIdleConnections()
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return Outcome{Reason: reasonOf(ctx, err)}
	}
	defer resp.Body.Close()
	return judge(resp)
}

// connect connects to the target, and reports whether it speaks HTTP/2.
func (c *connector) connect(ctx context.Context, t *Target, to string) (conn net.Conn, http2 bool, err error) {
	if conn, err = c.dialer.DialContext(ctx, "tcp", to); err != nil {
		return nil, false, err
	}
	http2 = t.Protocol == GRPC || t.Protocol == GRPCS
	if t.secure() {
		secure := tls.Client(conn, t.tls())
		if err := secure.HandshakeContext(ctx); err != nil {
			_ = conn.Close()
			return nil, false, err
		}
		conn, http2 = secure, http2 || secure.ConnectionState().NegotiatedProtocol == "h2"
	}
	conn = &peer{Conn: conn, asked: make(chan struct{}), left: maxAnswer}
	if http2 {
		conn = &framed{Conn: conn, in: bufio.NewReaderSize(conn, bufferSize)}
	}
	return conn, http2, nil
}

// peer is a connection that returns nothing until something was written to it: net/http logs,
// verbatim, what a server sends unasked (rule 4.8). It returns at most left octets.
type peer struct {
	net.Conn
	once  sync.Once
	asked chan struct{} // closed with the first Write, or Close
	left  int
}

// errTooMuch ends an answer that exceeds maxAnswer.
var errTooMuch = errors.New("the answer is too long")

// Read implements net.Conn.
func (p *peer) Read(b []byte) (int, error) {
	<-p.asked
	if p.left == 0 {
		return 0, errTooMuch
	}
	n, err := p.Conn.Read(b[:min(len(b), p.left)])
	p.left -= n
	return n, err
}

// Write implements net.Conn.
func (p *peer) Write(b []byte) (int, error) {
	p.once.Do(func() { close(p.asked) })
	return p.Conn.Write(b)
}

// Close implements net.Conn.
func (p *peer) Close() error {
	p.once.Do(func() { close(p.asked) })
	return p.Conn.Close()
}

// framed is a connection with HTTP/2. It drops PRIORITY frames, and those of types that RFC 9113
// does not define: net/http logs a line for each, and one answer can have thousands.
type framed struct {
	net.Conn
	in   *bufio.Reader
	left int // octets of the current frame
}

const (
	frameHeader = 9       // RFC 9113 §4.1
	frameSize   = 1 << 14 // RFC 9113 §4.2: the Transport refuses longer ones
)

// Read implements net.Conn.
func (f *framed) Read(b []byte) (int, error) {
	for f.left == 0 {
		head, err := f.in.Peek(frameHeader)
		if err != nil {
			return 0, err
		}
		size, kind := int(head[0])<<16|int(head[1])<<8|int(head[2]), h2.FrameType(head[3])
		if size > frameSize || kind <= h2.FrameContinuation && kind != h2.FramePriority {
			f.left = frameHeader + size
		} else if _, err := f.in.Discard(frameHeader + size); err != nil {
			return 0, err
		}
	}
	n, err := f.in.Read(b[:min(len(b), f.left)])
	f.left -= n
	return n, err
}

// request returns the request of a check. It fails for a path that the API server would have
// refused.
func (t *Target) request(ctx context.Context, method, path string, body io.Reader) (*http.Request, error) {
	scheme := "http"
	if t.secure() {
		scheme = "https"
	}
	host := t.authority()
	req, err := http.NewRequestWithContext(ctx, method, scheme+"://"+host+":"+strconv.Itoa(int(t.Port))+path, body)
	if err != nil {
		return nil, err
	}
	// Without the port (rule 4.2): Gateways route by the listener's host.
	req.Host = host
	req.Header.Set("User-Agent", "kuadrant-health")
	return req, nil
}

// host returns the check's host, or else the address without its zone, which is meaningless outside
// this machine (RFC 6874 §4).
func (t *Target) host() string {
	if t.Host != "" {
		return t.Host
	}
	host, _, _ := strings.Cut(t.Address, "%")
	return host
}

// authority returns host as in a URL: IPv6 in brackets (RFC 3986 §3.2.2).
func (t *Target) authority() string {
	host := t.host()
	if strings.Contains(host, ":") {
		return "[" + host + "]"
	}
	return host
}

// secure reports whether the check speaks TLS.
func (t *Target) secure() bool { return t.Protocol == HTTPS || t.Protocol == GRPCS }

// tls returns the configuration of the check's handshake.
func (t *Target) tls() *tls.Config {
	protocols := []string{"h2", "http/1.1"}
	if t.Protocol == GRPCS {
		protocols = protocols[:1]
	}
	return &tls.Config{
		ServerName: t.host(), NextProtos: protocols, MinVersion: tls.VersionTLS12,
		InsecureSkipVerify: t.Insecure, //nolint:gosec // allowInsecureCertificate says so
	}
}
