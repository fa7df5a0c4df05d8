package health

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strconv"

	"golang.org/x/net/http/httpguts"
)

// connector runs checks, each on connections of its own.
type connector struct {
	guard  Guard
	dialer net.Dialer
	// lookup resolves hostnames.
	lookup func(ctx context.Context, host string) ([]netip.Addr, error)
}

func newConnector(guard Guard) *connector {
	c := &connector{guard: guard}
	c.dialer.KeepAliveConfig.Enable = false
	c.dialer.KeepAlive = -1
	c.lookup = func(ctx context.Context, host string) ([]netip.Addr, error) {
		// With the final dot no search list applies.
		return net.DefaultResolver.LookupNetIP(ctx, "ip", host+".")
	}
	return c
}

// maxAddresses is how many addresses of one hostname are tried in one check.
const maxAddresses = 16

// run does one check within the target's timeout. It ends when ctx does.
func (c *connector) run(ctx context.Context, t *Target) Outcome {
	ctx, cancel := context.WithTimeout(ctx, t.Timeout)
	defer cancel()
	if t.Missing {
		return Outcome{Reason: HeadersNotFound}
	}
	if addr, err := netip.ParseAddr(t.Address); err == nil {
		return c.at(ctx, t, addr)
	}
	addrs, err := c.lookup(ctx, t.Address)
	if err != nil {
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return Outcome{Reason: ResolverFailed}
		}
		return Outcome{Reason: reasonOf(ctx, err)}
	}
	if len(addrs) == 0 {
		return Outcome{Reason: NoSuchHost}
	}
	// One good address is enough (rule 4.3); else the one that says most counts.
	worst := Outcome{Reason: Forbidden}
	for i, addr := range addrs {
		if i == maxAddresses {
			break
		}
		o := c.at(ctx, t, addr)
		switch {
		case o.Reason == Good:
			return o
		case o.Reason.verdict() < worst.Reason.verdict():
			worst = o
		}
	}
	return worst
}

// at checks the target at one of its addresses.
func (c *connector) at(ctx context.Context, t *Target, addr netip.Addr) Outcome {
	addr = addr.Unmap()
	if !c.guard.Allows(addr, t.Port) {
		return Outcome{Reason: Forbidden}
	}
	to := netip.AddrPortFrom(addr, t.Port).String()
	switch t.Protocol {
	case TCP:
		conn, err := c.dialer.DialContext(ctx, "tcp", to)
		if err == nil {
			_ = conn.Close()
		}
		return Outcome{Reason: reasonOf(ctx, err)}
	case GRPC, GRPCS:
		return c.grpc(ctx, t, to)
	case HTTPS:
		return c.https(ctx, t, to)
	case HTTP:
	}
	return c.plain(ctx, t, to)
}

// maxBody is how much of a body is read: a server should see that its answer
// was taken, and an endless one has an end (rule 4.2).
const maxBody = 64 << 10

// maxHeader bounds the header of an answer, in octets.
const maxHeader = 64 << 10

// https asks for the path over TLS, and HTTP/2 where the server wants that.
func (c *connector) https(ctx context.Context, t *Target, to string) Outcome {
	req, err := t.request(ctx)
	if err != nil {
		return Outcome{Reason: BadAnswer}
	}
	transport := &http.Transport{
		DialContext:            func(ctx context.Context, _, _ string) (net.Conn, error) { return c.dialer.DialContext(ctx, "tcp", to) },
		DisableKeepAlives:      true,
		DisableCompression:     true,
		MaxResponseHeaderBytes: maxHeader,
		ReadBufferSize:         bufferSize,
		WriteBufferSize:        bufferSize,
		TLSClientConfig:        t.tls(),
		ForceAttemptHTTP2:      true,
	}
	defer transport.CloseIdleConnections()
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return Outcome{Reason: reasonOf(ctx, err)}
	}
	defer resp.Body.Close()
	return t.judge(ctx, resp)
}

// judge looks at the status, and reads some of the body.
func (t *Target) judge(ctx context.Context, resp *http.Response) Outcome {
	if !t.expects(resp.StatusCode) {
		return Outcome{Reason: StatusCode, Status: resp.StatusCode}
	}
	if _, err := io.Copy(io.Discard, io.LimitReader(resp.Body, maxBody)); err != nil {
		return Outcome{Reason: reasonOf(ctx, err), Status: resp.StatusCode}
	}
	return Outcome{Status: resp.StatusCode}
}

// errRequest is what a header that cannot be sent ends with; it holds no word of it.
var errRequest = errors.New("header cannot be sent")

// request returns the request of an HTTP check. It fails for what the API server
// would have refused.
func (t *Target) request(ctx context.Context) (*http.Request, error) {
	host := t.Host
	if host == "" {
		host = t.Address
	}
	authority := net.JoinHostPort(host, strconv.Itoa(int(t.Port)))
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, t.Protocol.String()+"://"+authority+t.Path, nil)
	if err != nil {
		return nil, err
	}
	if t.Port == 80 && t.Protocol == HTTP || t.Port == 443 && t.Protocol == HTTPS {
		req.Host = host
	}
	req.Header.Set("User-Agent", "kuadrant-health")
	req.Header.Set("Connection", "close")
	for _, h := range t.Values {
		if !httpguts.ValidHeaderFieldName(h.Name) || !httpguts.ValidHeaderFieldValue(h.Value) {
			return nil, errRequest
		}
		req.Header.Set(h.Name, h.Value)
	}
	return req, nil
}

// tls is the configuration of the check's handshake.
func (t *Target) tls() *tls.Config {
	host := t.Host
	if host == "" {
		host = t.Address
	}
	return &tls.Config{ServerName: host, InsecureSkipVerify: t.Insecure, MinVersion: tls.VersionTLS12} //nolint:gosec // allowInsecureCertificate says so
}
