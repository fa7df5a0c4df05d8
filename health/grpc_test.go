package health

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// healthServer is a gRPC server with health checks.
type healthServer struct {
	grpc_health_v1.UnimplementedHealthServer
	answer func(service string) (grpc_health_v1.HealthCheckResponse_ServingStatus, error)
}

func (s *healthServer) Check(_ context.Context, req *grpc_health_v1.HealthCheckRequest) (*grpc_health_v1.HealthCheckResponse, error) {
	state, err := s.answer(req.GetService())
	return &grpc_health_v1.HealthCheckResponse{Status: state}, err
}

// TestGRPC asks the standard health service, with and without TLS.
func TestGRPC(t *testing.T) {
	cert, _ := serve(t, true, answers(200))
	start := func(opts ...grpc.ServerOption) uint16 {
		s := grpc.NewServer(opts...)
		grpc_health_v1.RegisterHealthServer(s, &healthServer{answer: func(service string) (grpc_health_v1.HealthCheckResponse_ServingStatus,
			error,
		) {
			switch service {
			case "", "good.Service":
				return grpc_health_v1.HealthCheckResponse_SERVING, nil
			case "bad.Service":
				return grpc_health_v1.HealthCheckResponse_NOT_SERVING, nil
			case "slow":
				return 0, status.Error(codes.DeadlineExceeded, "slow")
			case "cancelled": // a server that says so is not one that works
				return 0, status.Error(codes.Canceled, "cancelled")
			}
			return 0, status.Error(codes.NotFound, "no such service")
		}})
		l := listen(t, "127.0.0.1")
		go func() { _ = s.Serve(l) }()
		t.Cleanup(s.Stop)
		return portOf(l)
	}
	plain := start()
	secure := start(grpc.Creds(credentials.NewTLS(&tls.Config{Certificates: cert.TLS.Certificates, MinVersion: tls.VersionTLS12})))
	bare := grpc.NewServer() // without the health service
	l := listen(t, "127.0.0.1")
	go func() { _ = bare.Serve(l) }()
	t.Cleanup(bare.Stop)
	http1 := raw(t, says("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"))
	for _, c := range []struct {
		name     string
		protocol Protocol
		port     uint16
		path     string
		insecure bool
		want     Reason
	}{
		{"the server", GRPC, plain, "/", false, Good},
		{"a service", GRPC, plain, "/good.Service", false, Good},
		{"not serving", GRPC, plain, "/bad.Service", false, NotServing},
		{"unknown", GRPC, plain, "/other", false, UnknownService},
		{"slow", GRPC, plain, "/slow", false, Timeout},
		{"cancelled by the server", GRPC, plain, "/cancelled", false, BadAnswer},
		{"no health service", GRPC, portOf(l), "/", false, UnknownService},
		{"TLS", GRPCS, secure, "/", true, Good},
		{"TLS, not trusted", GRPCS, secure, "/", false, BadCertificate},
		{"TLS where there is none", GRPCS, plain, "/", true, TLSFailed},
		{"nobody", GRPC, refusing(t), "/", false, ConnectionRefused},
		{"HTTP/1.1", GRPC, http1, "/", false, BadAnswer},
	} {
		t.Run(c.name, func(t *testing.T) {
			target := at(c.protocol, c.port)
			target.Path, target.Insecure = c.path, c.insecure
			if o := newConnector(loopback).run(t.Context(), target); o.Reason != c.want {
				t.Errorf("%v, want %v", o.Reason, c.want)
			}
		})
	}
	hang := at(GRPC, raw(t, silent))
	hang.Timeout = 300 * time.Millisecond
	if o := newConnector(loopback).run(t.Context(), hang); o.Reason != Timeout {
		t.Errorf("a server that says nothing: %v", o.Reason)
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
