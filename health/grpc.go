package health

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
)

// grpc asks the health service of the server at to (grpc.health.v1) for the
// service that the path names.
func (c *connector) grpc(ctx context.Context, t *Target, to string) Outcome {
	// What broke the connection: gRPC hands on its text alone.
	var broken atomic.Uint32
	note := func(err error) { broken.Store(uint32(reasonOf(ctx, err))) }
	creds := insecure.NewCredentials()
	if t.Protocol == GRPCS {
		config := t.tls()
		config.ServerName = "" // the authority, which must not differ from it
		creds = noted{credentials.NewTLS(config), note}
	}
	var dialled atomic.Bool // a server that does not like its connection gets no other
	// The name means nothing: neither resolver nor proxy is asked, and the dialer
	// knows where to go.
	conn, err := grpc.NewClient("passthrough:///target",
		grpc.WithTransportCredentials(creds),
		grpc.WithAuthority(t.authority()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			if dialled.Swap(true) {
				return nil, errRefused
			}
			conn, err := c.dialer.DialContext(ctx, "tcp", to)
			if err != nil {
				note(err)
			}
			return conn, err
		}),
		grpc.WithNoProxy(), grpc.WithDisableRetry(), grpc.WithDisableServiceConfig(), grpc.WithDisableHealthCheck(),
		grpc.WithUserAgent("kuadrant-health"),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxBody)),
		grpc.WithMaxHeaderListSize(maxHeader),
	)
	if err != nil {
		return Outcome{Reason: BadAnswer}
	}
	defer conn.Close()
	answer, err := grpc_health_v1.NewHealthClient(conn).Check(ctx, &grpc_health_v1.HealthCheckRequest{Service: strings.Trim(t.Path, "/")})
	if err == nil {
		if answer.GetStatus() != grpc_health_v1.HealthCheckResponse_SERVING {
			return Outcome{Reason: NotServing}
		}
		return Outcome{}
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		return Outcome{Reason: Interrupted}
	}
	switch status.Code(err) {
	case codes.NotFound, codes.Unimplemented:
		return Outcome{Reason: UnknownService}
	case codes.DeadlineExceeded:
		return Outcome{Reason: Timeout}
	case codes.Unavailable:
		if r := Reason(broken.Load()); r != Good {
			return Outcome{Reason: r}
		}
		return Outcome{Reason: ConnectionReset}
	}
	return Outcome{Reason: BadAnswer}
}

// noted are credentials that tell how a handshake failed.
type noted struct {
	credentials.TransportCredentials
	note func(error)
}

// ClientHandshake implements credentials.TransportCredentials.
func (n noted) ClientHandshake(ctx context.Context, authority string, conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	c, info, err := n.TransportCredentials.ClientHandshake(ctx, authority, conn)
	if err != nil {
		n.note(err)
	}
	return c, info, err
}

// Clone implements credentials.TransportCredentials.
func (n noted) Clone() credentials.TransportCredentials {
	return noted{n.TransportCredentials.Clone(), n.note}
}
