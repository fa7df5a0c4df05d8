package health

import (
	"bufio"
	"context"
	"errors"
	"io"
	"math"
	"net"
	"net/http"
	"sync"
)

// errHeader is what a header that is too long, or has no end, ends with.
var errHeader = errors.New("header of the answer is too long")

// exchange is what one request and its answer are written and read with.
type exchange struct {
	limit io.LimitedReader // what may still come over the connection
	in    *bufio.Reader    // of limit
	out   *bufio.Writer
}

// bufferSize holds a request, and the header of an answer, as they usually are.
const bufferSize = 1 << 10

// exchanges are those that no check uses. A check takes one when it is connected:
// what waits for a connection holds no buffer.
var exchanges = sync.Pool{New: func() any {
	x := &exchange{out: bufio.NewWriterSize(nil, bufferSize)}
	x.in = bufio.NewReaderSize(&x.limit, bufferSize)
	return x
}}

// newExchange returns an exchange over conn. end gives it back; what was read with it
// must not be used any more then.
func newExchange(conn net.Conn) *exchange {
	x := exchanges.Get().(*exchange)
	x.limit = io.LimitedReader{R: conn}
	x.in.Reset(&x.limit)
	x.out.Reset(conn)
	return x
}

func (x *exchange) end() {
	x.limit.R = nil
	x.out.Reset(nil)
	exchanges.Put(x)
}

// ask writes the request, and reads the answer but for its body. Interim answers
// are passed over (RFC 9110 §15.2); 101 is a last one, though nobody asked to
// switch.
func (x *exchange) ask(req *http.Request) (*http.Response, error) {
	if err := req.Write(x.out); err != nil {
		return nil, err
	}
	if err := x.out.Flush(); err != nil {
		return nil, err
	}
	// All headers together, with what is read beyond them.
	x.limit.N = maxHeader + bufferSize
	for {
		resp, err := http.ReadResponse(x.in, req)
		if err != nil {
			if x.limit.N <= 0 {
				return nil, errHeader
			}
			return nil, err
		}
		if resp.StatusCode < 100 || resp.StatusCode > 199 || resp.StatusCode == http.StatusSwitchingProtocols {
			x.limit.N = math.MaxInt64 // whoever reads the body bounds it
			return resp, nil
		}
	}
}

// plain asks for the path over HTTP/1.1 without TLS, which needs no Transport: a
// connection carries one request, and the goroutine of the check does all.
func (c *connector) plain(ctx context.Context, t *Target, to string) Outcome {
	req, err := t.request(ctx)
	if err != nil {
		return Outcome{Reason: BadAnswer}
	}
	conn, err := c.dial(ctx, to)
	if err != nil {
		return Outcome{Reason: reasonOf(ctx, err)}
	}
	defer conn.Close()
	return t.over1(ctx, conn, req)
}

// over1 asks for the path over HTTP/1.1 on a connection, which it does not close.
func (t *Target) over1(ctx context.Context, conn net.Conn, req *http.Request) Outcome {
	x := newExchange(conn)
	defer x.end()
	resp, err := x.ask(req)
	if err != nil {
		return Outcome{Reason: reasonOf(ctx, err)}
	}
	// The body is not closed: that would read all of it, however long it is. The
	// connection is.
	return t.judge(ctx, resp)
}
