package health

import (
	"context"
	"errors"
	"fmt"
	"net"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
)

// TestOneConnectionForACheck: a server cannot make a check connect again and again.
func TestOneConnectionForACheck(t *testing.T) {
	frames := func(write func(*http2.Framer, net.Conn)) func(net.Conn) {
		return func(conn net.Conn) {
			f := http2.NewFramer(conn, conn)
			preface := make([]byte, len(http2.ClientPreface))
			_, _ = conn.Read(preface)
			_ = f.WriteSettings()
			write(f, conn)
		}
	}
	goaway := frames(func(f *http2.Framer, conn net.Conn) {
		_ = f.WriteGoAway(0, http2.ErrCodeNo, nil)
		silent(conn)
	})
	goawayEnd := frames(func(f *http2.Framer, conn net.Conn) {
		_ = f.WriteGoAway(0, http2.ErrCodeNo, nil)
		time.Sleep(5 * time.Millisecond)
	})
	refuse := frames(func(f *http2.Framer, _ net.Conn) {
		for {
			frame, err := f.ReadFrame()
			if err != nil {
				return
			}
			if h, ok := frame.(*http2.HeadersFrame); ok {
				_ = f.WriteRSTStream(h.StreamID, http2.ErrCodeRefusedStream)
			}
		}
	})
	closes := frames(func(*http2.Framer, net.Conn) {})
	late := frames(func(f *http2.Framer, conn net.Conn) { // goes away when asked
		for {
			frame, err := f.ReadFrame()
			if err != nil {
				return
			}
			if _, ok := frame.(*http2.HeadersFrame); ok {
				_ = f.WriteGoAway(0, http2.ErrCodeNo, nil)
			}
		}
	})
	for name, talk := range map[string]func(net.Conn){
		"goaway": goaway, "goaway and end": goawayEnd, "refuse": refuse,
		"closes": closes, "goaway late": late,
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

// TestGRPCAuthorityOfIPv6: an IPv6 address stands in brackets in :authority (RFC 3986
// §3.2.2).
func TestGRPCAuthorityOfIPv6(t *testing.T) {
	got := make(chan string, 1)
	s := grpc.NewServer(grpc.UnaryInterceptor(func(ctx context.Context, _ any, _ *grpc.UnaryServerInfo, _ grpc.UnaryHandler) (any, error) {
		md, _ := metadata.FromIncomingContext(ctx)
		got <- fmt.Sprint(md.Get(":authority"))
		return nil, errors.New("seen")
	}))
	grpc_health_v1.RegisterHealthServer(s, &healthServer{})
	l := listen(t, "::1")
	go func() { _ = s.Serve(l) }()
	t.Cleanup(s.Stop)
	target := at(GRPC, portOf(l))
	target.Address, target.Host = "::1", ""
	o := newConnector(loopback).run(t.Context(), target)
	select {
	case authority := <-got:
		if authority != "[[::1]]" {
			t.Errorf("authority %s", authority)
		}
	default:
		t.Errorf("not asked: %q", o.Reason)
	}
}
