package console

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/coredns-kuadrant/kuadrant/internal/direct"
	"github.com/coredns-kuadrant/kuadrant/internal/inspect"
	"github.com/coredns-kuadrant/kuadrant/records"
)

// Client queries a server's console. Its errors are *inspect.RequestError if the question is wrong, and others if
// there is no answer. It is safe for concurrent use.
type Client struct {
	base    *url.URL
	token   string
	timeout time.Duration
	http    *http.Client
}

// maxAnswer is the maximum length of an answer, in octets.
const maxAnswer = 256 << 20

// NewClient returns a client for the console at a URL, such as http://localhost:8090 or localhost:8090. token may be
// "". timeout applies to each question.
func NewClient(server, token string, timeout time.Duration) (*Client, error) {
	address := server
	if !strings.Contains(address, "://") {
		address = "http://" + address
	}
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return nil, fmt.Errorf("%q is not the URL of a console; write http://localhost:8090, for example", server)
	}
	u.Path = strings.TrimSuffix(u.Path, "/")
	return &Client{u, token, timeout, direct.Client(new(http.Client))}, nil
}

// get requests a path and decodes the answer into out.
func (c *Client) get(ctx context.Context, path string, q url.Values, out any) error {
	return c.ask(ctx, http.MethodGet, path, q, nil, out)
}

// ask sends a request, with manifests if it is a POST, and decodes the answer into out. If the server is busy, ask
// retries until ctx ends.
func (c *Client) ask(ctx context.Context, method, path string, q url.Values, manifests []byte, out any) error {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	u := *c.base
	u.Path += path
	u.RawQuery = q.Encode()
	for {
		req, err := http.NewRequestWithContext(ctx, method, u.String(), bytes.NewReader(manifests))
		if err != nil {
			return err
		}
		if method == http.MethodPost {
			req.Header.Set("Content-Type", "application/yaml")
		}
		err = c.do(req, out)
		var busy *busyError
		if !errors.As(err, &busy) {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", err, c.cause(ctx, ctx.Err()))
		case <-time.After(busy.wait):
		}
	}
}

// busyError means that the server asks the client to retry after a delay.
type busyError struct {
	error
	wait time.Duration
}

// longestWait is the longest Retry-After that a client obeys. The console asks for one second, or more after a large
// preview.
const longestWait = 10 * time.Second

// do sends a request once and decodes the answer into out.
func (c *Client) do(req *http.Request, out any) error {
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	req.Header.Set("Accept", "application/json")
	res, err := c.http.Do(req)
	if err != nil {
		return c.unreached(req.Context(), err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	switch {
	case err != nil:
		return fmt.Errorf("the server at %s stopped while it answered: %w", c.base, c.cause(req.Context(), err))
	case len(body) > maxAnswer:
		return fmt.Errorf("the answer of %s is larger than %d MiB; ask for less", c.base, maxAnswer>>20)
	}
	if kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type")); kind != "application/json" ||
		res.Header.Get(versionHeader) != apiVersion {
		return fmt.Errorf("%s answered %s, but not as a console of this version; it is another server, or behind "+
			"a proxy", c.base, res.Status)
	}
	if res.StatusCode != http.StatusOK {
		return c.refused(res, body)
	}
	if err := json.Unmarshal(body, out); err != nil {
		return fmt.Errorf("cannot understand the answer of %s, which may have another version: %w", c.base, err)
	}
	return nil
}

// unreached returns the error of a request without an answer.
func (c *Client) unreached(ctx context.Context, err error) error {
	return fmt.Errorf("no answer from %s: %w; check that the server runs, that its Corefile has the property console, and for a server "+
		"in a cluster that kubectl port-forward runs", c.base, Cause(c.cause(ctx, err)))
}

// Cause returns the innermost network error, such as a refused connection, without addresses: the caller's message
// names the server.
func Cause(err error) error {
	if of := (*url.Error)(nil); errors.As(err, &of) {
		err = of.Err
	}
	if of := (*net.OpError)(nil); errors.As(err, &of) {
		err = of.Err
	}
	if of := (*os.SyscallError)(nil); errors.As(err, &of) {
		err = of.Err
	}
	return err
}

// cause returns why a request ended.
func (c *Client) cause(ctx context.Context, err error) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return errors.New("timed out (--timeout)")
	}
	return err
}

// refused returns the error in an unsuccessful answer.
func (c *Client) refused(res *http.Response, body []byte) error {
	switch {
	case res.StatusCode != http.StatusUnauthorized:
	case c.token == "":
		return fmt.Errorf("%s needs a token; name its file with --token-file", c.base)
	default:
		return fmt.Errorf("%s rejects the token of --token-file; compare that file with the one that the server's Corefile names", c.base)
	}
	var f Failure
	if err := json.Unmarshal(body, &f); err != nil || f.Error.Message == "" {
		return fmt.Errorf("%s answered %s", c.base, res.Status)
	}
	if f.Error.Field != "" {
		return &inspect.RequestError{Field: f.Error.Field, Text: f.Error.Message, NotFound: f.Error.NotFound}
	}
	err := fmt.Errorf("%s refuses: %s", c.base, f.Error.Message)
	if s, bad := strconv.ParseUint(res.Header.Get("Retry-After"), 10, 16); bad == nil && res.StatusCode == http.StatusTooManyRequests {
		return &busyError{err, min(time.Duration(s)*time.Second, longestWait)}
	}
	return err
}

// Explain is inspect.View.Explain.
func (c *Client) Explain(ctx context.Context, q inspect.Question) (*records.Explanation, error) {
	x, err := fetch[records.Explanation](ctx, c, PathExplain, "name", q.Name, "type", q.Type, "from", q.From)
	if err == nil && len(x.Steps) == 0 {
		err = fmt.Errorf("cannot understand the answer of %s: it explains nothing", c.base)
	}
	return x, err
}

// Zones is inspect.View.Zones.
func (c *Client) Zones(ctx context.Context) (all []inspect.Zone, err error) {
	return all, c.get(ctx, PathZones, nil, &all)
}

// fetch requests a path and returns the decoded answer.
func fetch[T any](ctx context.Context, c *Client, path string, pairs ...string) (*T, error) {
	out := new(T)
	return out, c.get(ctx, path, values(pairs...), out)
}

// Names is inspect.View.Names.
func (c *Client) Names(ctx context.Context, f inspect.Filter) (*inspect.NamePage, error) {
	return fetch[inspect.NamePage](ctx, c, PathNames, "zone", f.Zone, "q", f.Contains, "state", f.State, "near", f.Near,
		"after", f.After, "limit", number(f.Limit))
}

// Tree is inspect.View.Tree.
func (c *Client) Tree(ctx context.Context, name string) (*records.Tree, error) {
	return fetch[records.Tree](ctx, c, PathTree, "name", name)
}

// Targets is inspect.View.Targets.
func (c *Client) Targets(ctx context.Context, state, contains string, limit int) (*inspect.TargetPage, error) {
	return fetch[inspect.TargetPage](ctx, c, PathTargets, "state", state, "q", contains, "limit", number(limit))
}

// Troubles is inspect.View.Troubles.
func (c *Client) Troubles(ctx context.Context, f inspect.TroubleFilter) (*inspect.Troubles, error) {
	return fetch[inspect.Troubles](ctx, c, PathTroubles, "after", f.After, "objectsAfter", f.ObjectsAfter, "limit", number(f.Limit))
}

// Preview returns what would change on the server if manifests were applied.
func (c *Client) Preview(ctx context.Context, p PreviewRequest) (*inspect.Preview, error) {
	prune := ""
	if p.Prune {
		prune = "true"
	}
	found := new(inspect.Preview)
	return found, c.ask(ctx, http.MethodPost, PathPreview, values("cluster", p.Cluster, "prune", prune), p.Manifests, found)
}

// Server returns the state of the server.
func (c *Client) Server(ctx context.Context) (*Server, error) {
	return fetch[Server](ctx, c, PathServer)
}

// number formats a number; "" for 0.
func number(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}
