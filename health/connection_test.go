package health

import (
	"bytes"
	"io"
	"log"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"
)

// frames does what talk says of HTTP/2, once the client has begun and has our settings.
func frames(talk func(*http2.Framer, net.Conn)) func(net.Conn) {
	return func(conn net.Conn) {
		f := http2.NewFramer(conn, conn)
		_, _ = conn.Read(make([]byte, len(http2.ClientPreface)))
		_ = f.WriteSettings()
		talk(f, conn)
	}
}

// atRequests calls answer with the stream of each request.
func atRequests(answer func(f *http2.Framer, stream uint32)) func(net.Conn) {
	return frames(func(f *http2.Framer, _ net.Conn) {
		for {
			frame, err := f.ReadFrame()
			if err != nil {
				return
			}
			if h, ok := frame.(*http2.HeadersFrame); ok {
				answer(f, h.StreamID)
			}
		}
	})
}

// TestOneConnectionForACheck: a server cannot make a check connect again and again.
func TestOneConnectionForACheck(t *testing.T) {
	for name, talk := range map[string]func(net.Conn){
		"goaway": frames(func(f *http2.Framer, conn net.Conn) {
			_ = f.WriteGoAway(0, http2.ErrCodeNo, nil)
			silent(conn)
		}),
		"goaway and end": frames(func(f *http2.Framer, _ net.Conn) {
			_ = f.WriteGoAway(0, http2.ErrCodeNo, nil)
			time.Sleep(5 * time.Millisecond)
		}),
		"goaway late": atRequests(func(f *http2.Framer, _ uint32) { _ = f.WriteGoAway(0, http2.ErrCodeNo, nil) }),
		"refuse":      atRequests(func(f *http2.Framer, stream uint32) { _ = f.WriteRSTStream(stream, http2.ErrCodeRefusedStream) }),
		"closes":      frames(func(*http2.Framer, net.Conn) {}),
	} {
		for _, p := range []Protocol{HTTPS, GRPC, GRPCS} {
			serve := talk
			if p != GRPC {
				serve = secured(talk, "h2")
			}
			target := at(p, raw(t, serve))
			target.Insecure, target.Timeout = true, time.Second
			conn, dialled := dials()
			o := conn.run(t.Context(), target)
			if n := len(dialled()); n != 1 || o.Reason.verdict() != failure {
				t.Errorf("%s, %s: %d connections in one check, %q", name, p, n, o.Reason)
			}
		}
	}
}

// logBuffer is a log that a test looks into.
type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// TestNothingIsLoggedOfPeers: what a server says does not get into the log of this process
// (rule 4.8), whatever library reads it, and a server cannot fill the log: net/http writes up to
// two lines of its own where HTTP/2 is not kept to.
func TestNothingIsLoggedOfPeers(t *testing.T) {
	const text = "level=fatal msg=forged"
	var out logBuffer
	usual := log.Writer()
	log.SetOutput(&out)
	defer log.SetOutput(usual)
	early := func(conn net.Conn) { // answers before it was asked
		_, _ = io.WriteString(conn, "HTTP/1.1 200 "+text+"\r\nContent-Length: 0\r\n\r\n")
		silent(conn)
	}
	data := atRequests(func(f *http2.Framer, stream uint32) { _ = f.WriteData(stream, false, []byte(text)) }) // that nobody asked for
	unknown := func(conn net.Conn) {                                                                          // frames that no client knows
		f := http2.NewFramer(conn, conn)
		_ = f.WriteSettings()
		for range 1000 {
			_ = f.WriteRawFrame(0xfa, 0, 0, nil)
		}
		silent(conn)
	}
	for name, talk := range map[string]func(net.Conn){
		"early": secured(early), "data": secured(data, "h2"), "unknown": secured(unknown, "h2"),
	} {
		port := raw(t, talk)
		for range 20 {
			target := at(HTTPS, port)
			target.Insecure, target.Timeout = true, 100*time.Millisecond
			newConnector(loopback).run(t.Context(), target)
		}
		if lines := out.String(); strings.Contains(lines, "forged") || strings.Count(lines, "\n") > 2*20 {
			t.Errorf("%s: %d octets logged for 20 checks: %.1000s", name, len(lines), lines)
		}
	}
}
