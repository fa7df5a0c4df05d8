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
	frames := func(conn net.Conn) { // data that nobody asked for
		f := http2.NewFramer(conn, conn)
		_, _ = conn.Read(make([]byte, len(http2.ClientPreface)))
		_ = f.WriteSettings()
		for {
			frame, err := f.ReadFrame()
			if err != nil {
				return
			}
			if h, ok := frame.(*http2.HeadersFrame); ok {
				_ = f.WriteData(h.StreamID, false, []byte(text))
			}
		}
	}
	unknown := func(conn net.Conn) { // frames that no client knows
		f := http2.NewFramer(conn, conn)
		_ = f.WriteSettings()
		for range 1000 {
			_ = f.WriteRawFrame(0xfa, 0, 0, nil)
		}
		silent(conn)
	}
	for name, talk := range map[string]func(net.Conn){
		"early": secured(early), "frames": secured(frames, "h2"), "unknown": secured(unknown, "h2"),
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
