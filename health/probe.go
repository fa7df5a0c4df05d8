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
	"sync"
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
	// more tells whether a check may have another connection beside its first, less
	// gives so many back.
	more func() bool
	less func(n int)
}

func newConnector(guard Guard) *connector {
	c := &connector{guard: guard, stagger: stagger, more: func() bool { return true }, less: func(int) {}}
	c.guard.hosts = newHostAddresses(guard.DenyHosts)
	c.dialer.KeepAliveConfig.Enable = false
	c.dialer.KeepAlive = -1
	c.resolver.PreferGo = true
	c.lookup = c.resolve
	return c
}

// resolve returns the addresses of a hostname, those of both families in turn. It
// fails where none is found, and has not found that there is none where the resolver
// fails for one family.
func (c *connector) resolve(ctx context.Context, host string) ([]netip.Addr, error) {
	var found [len(hostNetworks)][]netip.Addr
	var failed [len(hostNetworks)]error
	var all sync.WaitGroup
	for i, network := range hostNetworks {
		// With the final dot no search list applies.
		all.Go(func() { found[i], failed[i] = c.resolver.LookupNetIP(ctx, network, host+".") })
	}
	all.Wait()
	var addrs []netip.Addr
	for i := range max(len(found[0]), len(found[1])) {
		for _, list := range found {
			if i < len(list) {
				addrs = append(addrs, list[i])
			}
		}
	}
	if len(addrs) > 0 {
		return addrs, nil
	}
	for _, err := range failed {
		if err != nil && reasonOfLookup(err) != NoSuchHost {
			return nil, err
		}
	}
	return nil, failed[0]
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
	began := time.Now()
	addrs, err := c.lookup(ctx, t.Address)
	took := time.Since(began)
	if err != nil {
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return Outcome{Reason: ResolverFailed}
		}
		return Outcome{Reason: reasonOf(ctx, err)}
	}
	if len(addrs) == 0 {
		return Outcome{Reason: NoSuchHost}
	}
	o := c.anyOf(ctx, t, addrs)
	if o.Reason == Timeout && took > t.timeout()/2 {
		o.Reason = ResolverFailed // the target had less time than our resolver
	}
	return o
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

// https asks for the path over TLS, and HTTP/2 where the server wants that. It is on
// one connection, whatever the server does.
func (c *connector) https(ctx context.Context, t *Target, to string) Outcome {
	req, err := t.request(ctx)
	if err != nil {
		return Outcome{Reason: BadAnswer}
	}
	conn, err := c.dial(ctx, to)
	if err != nil {
		return Outcome{Reason: reasonOf(ctx, err)}
	}
	defer conn.Close()
	config := t.tls()
	config.NextProtos = []string{"h2", "http/1.1"}
	secure := tls.Client(conn, config)
	if err := secure.HandshakeContext(ctx); err != nil {
		return Outcome{Reason: reasonOf(ctx, err)}
	}
	if secure.ConnectionState().NegotiatedProtocol == "h2" {
		return t.over2(ctx, secure, req)
	}
	return t.over1(ctx, secure, req)
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
	host := t.authority()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, t.Protocol.String()+"://"+host+":"+strconv.Itoa(int(t.Port))+t.Path, nil)
	if err != nil {
		return nil, err
	}
	// Without the port (rule 4.2): Gateways route by the listener's host.
	req.Host = host
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

// authority returns host as it stands in a URL: IPv6 in brackets (RFC 3986 §3.2.2).
func (t *Target) authority() string {
	host := t.host()
	if strings.Contains(host, ":") {
		return "[" + host + "]"
	}
	return host
}

// tls is the configuration of the check's handshake.
func (t *Target) tls() *tls.Config {
	return &tls.Config{ServerName: t.host(), InsecureSkipVerify: t.Insecure, MinVersion: tls.VersionTLS12} //nolint:gosec // allowInsecureCertificate says so
}
