package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/miekg/dns"
	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"

	"github.com/coredns-kuadrant/kuadrant/internal/inspect"
	"github.com/coredns-kuadrant/kuadrant/records"
)

const (
	// compareWorkers is the number of questions in flight: enough to reach the rate limit with a distant server, and
	// no burden on it.
	compareWorkers = 8
	// mostUnanswered is the number of consecutive unanswered questions after which the server counts as down.
	mostUnanswered = 5
)

type compareRun struct {
	reader  reader
	world   *world // nil if the reader is a server
	other   *dnsServer
	clients []*inspect.Place // a nil element asks without a client subnet
	named   bool             // the clients come from flags
	names   []compareName

	mu       sync.Mutex // guards the fields below
	found    *inspect.Comparison
	trees    map[string]*records.Tree
	nowhere  map[string]bool // names that exist on neither side
	silent   int             // consecutive unanswered questions
	asked    int
	expected int
}

// compareName is one name to ask for.
type compareName struct {
	name  string
	types []string
	// chosen is true if our answer depends on the client.
	chosen bool
}

func newDNSServer(addr string, perSecond float64) *dnsServer {
	return &dnsServer{addr: addr, limiter: rate.NewLimiter(rate.Limit(perSecond), 1), recurse: true}
}

// do asks every question and returns the differences. With an error it returns what was found before it, or nil if
// nothing was answered.
func (r *compareRun) do(ctx context.Context, p *progress) (*inspect.Comparison, error) {
	p.begin("asking " + r.other.addr)
	r.trees, r.nowhere = make(map[string]*records.Tree), make(map[string]bool)
	for _, n := range r.names {
		r.expected += len(n.types) * len(r.clientsFor(&n))
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(compareWorkers)
	for _, n := range r.names {
		for _, t := range n.types {
			if ctx.Err() != nil {
				break
			}
			group.Go(func() error { return r.name(ctx, &n, t, p) })
		}
	}
	err := group.Wait()
	if errors.Is(err, context.Canceled) {
		err = errors.New("interrupted")
	}
	if r.found.Asked == 0 {
		return nil, failed(cmp.Or(err, errors.New(r.found.LastError)))
	}
	if err != nil {
		r.found.Ended = err.Error()
		err = failed(errors.New("the comparison is not complete"))
	}
	r.found.Finish()
	r.tellNowhere(ctx, p)
	return r.found, err
}

// tellNowhere warns of names that exist on neither side: a misspelt name compares as equal.
func (r *compareRun) tellNowhere(ctx context.Context, p *progress) {
	names := slices.Sorted(maps.Keys(r.nowhere))
	switch n := len(names); n {
	case 0:
	case 1:
		p.warn("%s exists neither here nor there%s", names[0], nearNames(ctx, r.reader, names[0]))
	default:
		p.warn("%d names, such as %s, exist neither here nor there", n, names[0])
	}
}

// clientsFor returns the clients to start with: all of them, or the first if our answer does not depend on the
// client.
func (r *compareRun) clientsFor(n *compareName) []*inspect.Place {
	if n.chosen || r.named {
		return r.clients
	}
	return r.clients[:1]
}

// name asks for one name and type, from the clients of clientsFor; from all clients if the other server's answer
// depends on the client.
func (r *compareRun) name(ctx context.Context, n *compareName, rtype string, p *progress) error {
	clients := r.clientsFor(n)
	for i := 0; i < len(clients); i++ {
		depends, err := r.one(ctx, n, rtype, clients[i], p)
		if err != nil {
			return err
		}
		if depends && len(clients) < len(r.clients) { // the other server's answer does
			clients = r.clients
			r.mu.Lock()
			r.expected += len(clients) - 1
			r.mu.Unlock()
		}
	}
	return nil
}

// one asks one question and reports whether the other server's answer depends on the client.
func (r *compareRun) one(ctx context.Context, n *compareName, rtype string, of *inspect.Place, p *progress) (depends bool, err error) {
	name := cmp.Or(n.name, ".")
	q := dnsQuestion{name: name}
	if q.rtype, err = inspect.ParseType(rtype); err != nil {
		return false, err
	}
	from := ""
	if of != nil {
		q.subnet, from = of.Network, of.Network.String()
	}
	reply, err := r.other.ask(ctx, q)
	if err != nil {
		return false, r.unanswered(ctx, err)
	}
	subnet := subnetOf(reply)
	compared, err := r.judge(ctx, inspect.Question{Name: name, Type: rtype, From: from}, &inspect.Reply{
		Rcode: rcodeText(reply.Rcode), Answer: reply.Answer, Authority: reply.Ns, Subnet: subnet != nil,
	})
	if err != nil {
		return false, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.silent = 0
	r.asked++
	if r.found.Add(of, compared); compared.Kind == "" && reply.Rcode == dns.RcodeNameError {
		r.nowhere[n.name] = true
	}
	if err := r.found.Full(); err != nil {
		return false, err
	}
	p.begin(fmt.Sprintf("comparing: %d of %d questions, %d the same", r.asked, r.expected, r.found.Same))
	return subnet != nil && subnet.SourceScope > 0, nil
}

// unanswered counts an unanswered question. It returns an error once the server counts as down.
func (r *compareRun) unanswered(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.found.Fail(err)
	r.asked++
	if r.silent++; r.silent >= mostUnanswered {
		return fmt.Errorf("%w: gave up after %d questions in a row", err, r.silent)
	}
	return nil
}

// judge compares a reply with our answer.
func (r *compareRun) judge(ctx context.Context, q inspect.Question, reply *inspect.Reply) (*inspect.Compared, error) {
	x, err := r.explain(ctx, q)
	if err != nil {
		return nil, err
	}
	if x == nil { // the name is in none of our zones
		x = &records.Explanation{
			Name: q.Name, Type: q.Type, Rcode: dns.RcodeToString[dns.RcodeRefused],
			Steps: []records.Step{{Name: q.Name, Type: q.Type, Found: records.FoundNothing, Ends: "the name is in no zone served here"}},
		}
	}
	var failed error // set by the callbacks
	c := inspect.CompareReply(x, &inspect.Here{
		Tree: func(name string) *records.Tree {
			t, err := r.tree(ctx, name)
			failed = cmp.Or(failed, err)
			return t
		},
		Explain: func(name string) *records.Explanation {
			x, err := r.explain(ctx, inspect.Question{Name: name, Type: q.Type, From: q.From})
			failed = cmp.Or(failed, err)
			return x
		},
	}, reply, q.From != "")
	return c, failed
}

// explain returns our answer, or nil if the name is in none of our zones.
func (r *compareRun) explain(ctx context.Context, q inspect.Question) (*records.Explanation, error) {
	return found(r.reader.Explain(ctx, q))
}

// found returns nil in place of a NotFound error.
func found[T any](one *T, err error) (*T, error) {
	if of, ok := inspect.IsRequest(err); ok && of.NotFound {
		return nil, nil
	}
	return one, err
}

// tree returns the tree of a name, cached; nil if there is none.
func (r *compareRun) tree(ctx context.Context, name string) (*records.Tree, error) {
	r.mu.Lock()
	t, ok := r.trees[name]
	r.mu.Unlock()
	if ok {
		return t, nil
	}
	t, err := found(r.reader.Tree(ctx, name))
	if err == nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.trees[name] = t
	}
	return t, err
}
