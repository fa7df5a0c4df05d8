package health

import (
	"bytes"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// answersOver2 runs a server that takes the preface, sends its settings and says what
// it has to say to the first request.
func answersOver2(t *testing.T, say func(f *http2.Framer, conn net.Conn, block func(...string) []byte), settings ...http2.Setting) uint16 {
	return raw(t, secured(func(conn net.Conn) {
		if _, err := io.ReadFull(conn, make([]byte, len(http2.ClientPreface))); err != nil {
			return
		}
		f := http2.NewFramer(conn, conn)
		_ = f.WriteSettings(settings...)
		for {
			frame, err := f.ReadFrame()
			if err != nil {
				return
			}
			if _, ok := frame.(*http2.HeadersFrame); ok {
				break
			}
		}
		var b bytes.Buffer
		enc := hpack.NewEncoder(&b)
		say(f, conn, func(fields ...string) []byte {
			b.Reset()
			for i := 0; i < len(fields); i += 2 {
				_ = enc.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]})
			}
			return bytes.Clone(b.Bytes())
		})
		silent(conn)
	}, "h2"))
}

// TestAnswersOver2: what the protocol allows is an answer (RFC 9113).
func TestAnswersOver2(t *testing.T) {
	type say = func(f *http2.Framer, conn net.Conn, block func(...string) []byte)
	head := func(f *http2.Framer, b []byte, end bool) {
		_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: b, EndHeaders: true, EndStream: end})
	}
	for name, say := range map[string]say{
		"plain": func(f *http2.Framer, _ net.Conn, block func(...string) []byte) {
			head(f, block(":status", "200"), true)
		},
		"interim and trailer": func(f *http2.Framer, _ net.Conn, block func(...string) []byte) {
			head(f, block(":status", "103", "link", "</a>"), false)
			head(f, block(":status", "100"), false)
			head(f, block(":status", "200"), false)
			_ = f.WriteData(1, false, []byte("x"))
			head(f, block("x-sum", "1"), true)
		},
		"continuation": func(f *http2.Framer, _ net.Conn, block func(...string) []byte) {
			b := block(":status", "200", "x-long", strings.Repeat("@", 40000), "server", "x")
			_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: b[:1], PadLength: 200, Priority: http2.PriorityParam{Weight: 3}})
			for b = b[1:]; len(b) > 10000; b = b[10000:] {
				_ = f.WriteContinuation(1, false, b[:10000])
			}
			_ = f.WriteContinuation(1, false, nil)
			_ = f.WriteContinuation(1, true, b)
			_ = f.WriteData(1, true, nil)
		},
		"table size": func(f *http2.Framer, _ net.Conn, block func(...string) []byte) {
			head(f, append([]byte{0x20, 0x3f, 0xe1, 0x1f}, block(":status", "200")...), true) // 0, then 4096
		},
		"goaway before": func(f *http2.Framer, _ net.Conn, block func(...string) []byte) {
			_ = f.WriteGoAway(1<<31-1, http2.ErrCodeNo, nil)
			_ = f.WriteGoAway(1, http2.ErrCodeNo, []byte("bye"))
			head(f, block(":status", "200"), true)
		},
		"unknown frames": func(f *http2.Framer, _ net.Conn, block func(...string) []byte) {
			_ = f.WriteRawFrame(0xa, 0, 0, []byte("\x00\x00"))
			_ = f.WriteRawFrame(0xc, 0, 0, []byte("\x00\x00"))
			_ = f.WriteWindowUpdate(0, 1<<20)
			_ = f.WritePriority(3, http2.PriorityParam{})
			_ = f.WritePing(false, [8]byte{1})
			_ = f.WriteSettings()
			head(f, block(":status", "200"), true)
		},
		"reset without error": func(f *http2.Framer, _ net.Conn, block func(...string) []byte) {
			head(f, block(":status", "200"), false)
			_ = f.WriteData(1, false, []byte("x"))
			_ = f.WriteRSTStream(1, http2.ErrCodeNo)
		},
		"many small frames": func(f *http2.Framer, _ net.Conn, block func(...string) []byte) {
			head(f, block(":status", "200"), false)
			for range 5000 {
				_ = f.WriteData(1, false, []byte("x"))
			}
			_ = f.WriteData(1, true, nil)
		},
		"end in the middle": func(f *http2.Framer, conn net.Conn, block func(...string) []byte) {
			head(f, block(":status", "200"), false)
			_ = conn.Close()
		},
		"no table": func(f *http2.Framer, _ net.Conn, block func(...string) []byte) {
			head(f, block(":status", "201"), true)
		},
	} {
		t.Run(name, func(t *testing.T) {
			target := at(HTTPS, answersOver2(t, say, http2.Setting{ID: http2.SettingHeaderTableSize, Val: 0},
				http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 1}))
			target.Insecure, target.Timeout = true, 2*time.Second
			if o := newConnector(loopback).run(t.Context(), target); o.Reason != Good {
				t.Errorf("%q, status %d", o.Reason, o.Status)
			}
		})
	}
}

// TestAnswerBeforeAcknowledgement: a server that has answered and is gone has answered,
// though our acknowledgement of its settings reaches nobody any more.
func TestAnswerBeforeAcknowledgement(t *testing.T) {
	for i := range 20 {
		port := raw(t, func(conn net.Conn) {
			secured(func(c net.Conn) {
				if _, err := io.ReadFull(c, make([]byte, len(http2.ClientPreface))); err != nil {
					return
				}
				in := http2.NewFramer(nil, c)
				for {
					frame, err := in.ReadFrame()
					if err != nil {
						return
					}
					if _, ok := frame.(*http2.HeadersFrame); ok {
						break
					}
				}
				var all, b bytes.Buffer
				f := http2.NewFramer(&all, nil)
				_ = hpack.NewEncoder(&b).WriteField(hpack.HeaderField{Name: ":status", Value: "200"})
				_ = f.WriteSettings()
				_ = f.WriteSettingsAck()
				_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: b.Bytes(), EndHeaders: true, EndStream: true})
				_ = f.WriteGoAway(1, http2.ErrCodeNo, nil)
				_, _ = c.Write(all.Bytes())
				_ = conn.(*net.TCPConn).SetLinger(0) // as a close with octets unread
				_ = conn.Close()
			}, "h2")(conn)
		})
		target := at(HTTPS, port)
		target.Insecure, target.Timeout = true, 2*time.Second
		if o := newConnector(loopback).run(t.Context(), target); o.Reason != Good {
			t.Errorf("%d: %q, status %d", i, o.Reason, o.Status)
		}
	}
}

// TestHTTP2Server asks the server of x/net.
func TestHTTP2Server(t *testing.T) {
	for name, h := range map[string]http.HandlerFunc{
		"empty": func(http.ResponseWriter, *http.Request) {},
		"early": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(103); w.WriteHeader(200) },
		"trailer": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Trailer", "X-Sum")
			_, _ = w.Write(make([]byte, 100))
			w.Header().Set("X-Sum", "1")
		},
		"large header": func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("X-Long", strings.Repeat("x", 60000)) },
		"64 KiB":       func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, maxBody)) },
		"64 KiB and 1": func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, maxBody+1)) },
		"endless": func(w http.ResponseWriter, _ *http.Request) {
			for {
				if _, err := w.Write(make([]byte, 1000)); err != nil {
					return
				}
			}
		},
		"close": func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Connection", "close") },
	} {
		t.Run(name, func(t *testing.T) {
			s := httptest.NewUnstartedServer(h)
			_ = s.Listener.Close()
			s.Listener = listen(t, "127.0.0.1")
			s.Config.HTTP2 = &http.HTTP2Config{MaxConcurrentStreams: 1}
			s.TLS = &tls.Config{NextProtos: []string{"h2"}}
			s.EnableHTTP2 = true
			s.StartTLS()
			defer s.Close()
			target := at(HTTPS, portOf(s.Listener))
			target.Insecure, target.Timeout = true, 2*time.Second
			for range 20 {
				if o := newConnector(loopback).run(t.Context(), target); o.Reason != Good {
					t.Errorf("%q, status %d", o.Reason, o.Status)
				}
			}
		})
	}
}
