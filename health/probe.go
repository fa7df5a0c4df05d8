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
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"
)

// connector runs checks, each on connections of its own.
type connector struct {
	guard   Guard
	dialer  net.Dialer
	stagger time.Duration
	// resolver is our own: that of the C library would go on in a thread after
	// ctx has ended.
	resolver net.Resolver
	// lookup resolves hostnames.
	lookup func(ctx context.Context, host string) ([]netip.Addr, error)
}

func newConnector(guard Guard) *connector {
	c := &connector{guard: guard, stagger: stagger}
	if len(guard.DenyHosts) > 0 {
		c.guard.hosts = newHostAddresses(guard.DenyHosts)
	}
	c.dialer.KeepAliveConfig.Enable = false
	c.dialer.KeepAlive = -1
	c.resolver.PreferGo = true
	c.lookup = func(ctx context.Context, host string) ([]netip.Addr, error) {
		// With the final dot no search list applies.
		return c.resolver.LookupNetIP(ctx, "ip", host+".")
	}
	return c
}

// run does one check within the target's timeout. It ends when ctx does.
func (c *connector) run(ctx context.Context, t *Target) Outcome {
	ctx, cancel := context.WithTimeout(ctx, t.timeout())
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
	return c.anyOf(ctx, t, addrs)
}

// timeout returns how long one check may take.
func (t *Terms) timeout() time.Duration {
	if t.Timeout <= 0 {
		return defaultTimeout
	}
	return min(t.Timeout, maxTimeout)
}

// maxTimeout bounds how long a target that says nothing keeps others waiting for
// their turn: their number is bounded.
const maxTimeout = 30 * time.Second

// defaultTimeout holds where the terms have none (rule 4.2).
const defaultTimeout = 5 * time.Second

// at checks the target at one of its addresses.
func (c *connector) at(ctx context.Context, t *Target, addr netip.Addr) Outcome {
	addr = addr.Unmap()
	if r := c.guard.permits(addr, t.Port); r != Good {
		return Outcome{Reason: r}
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
		// Not with the transport's own context: that one outlives the request.
		DialContext:            func(context.Context, string, string) (net.Conn, error) { return c.dial(ctx, to) },
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
	// The status has decided: a body that breaks off changes nothing. One that
	// takes longer than the whole check may does.
	if _, err := io.Copy(io.Discard, io.LimitReader(resp.Body, maxBody)); err != nil && ctx.Err() != nil {
		return Outcome{Reason: reasonOf(ctx, err), Status: resp.StatusCode}
	}
	return Outcome{Status: resp.StatusCode}
}

// dial connects. The connection ends with ctx, whatever uses it then: nothing of
// a check is left when it has ended.
func (c *connector) dial(ctx context.Context, to string) (net.Conn, error) {
	conn, err := c.dialer.DialContext(ctx, "tcp", to)
	if err == nil {
		context.AfterFunc(ctx, func() { _ = conn.Close() })
	}
	return conn, err
}

// errRequest is what a header that cannot be sent ends with; it holds no word of it.
var errRequest = errors.New("header cannot be sent")

// request returns the request of an HTTP check. It fails for what the API server
// would have refused.
func (t *Target) request(ctx context.Context) (*http.Request, error) {
	host := t.host()
	authority := net.JoinHostPort(host, strconv.Itoa(int(t.Port)))
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, t.Protocol.String()+"://"+authority+t.Path, nil)
	if err != nil {
		return nil, err
	}
	// Without the port (rule 4.2): Gateways route by the listener's host.
	req.Host = strings.TrimSuffix(authority, ":"+strconv.Itoa(int(t.Port))) // IPv6 in brackets
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

// host returns whom the check is for: the address without its zone, which is
// nobody else's matter (RFC 6874 §4), where nothing else is said.
func (t *Target) host() string {
	if t.Host != "" {
		return t.Host
	}
	host, _, _ := strings.Cut(t.Address, "%")
	return host
}

// tls is the configuration of the check's handshake.
func (t *Target) tls() *tls.Config {
	return &tls.Config{ServerName: t.host(), InsecureSkipVerify: t.Insecure, MinVersion: tls.VersionTLS12} //nolint:gosec // allowInsecureCertificate says so
}
