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
	// compareWorkers is how many questions are on their way at a time: enough for the rate at which a server far
	// away is asked, and few for it.
	compareWorkers = 8
	// mostUnanswered is after how many questions in a row without an answer the server counts as away.
	mostUnanswered = 5
)

// compareRun is one run of compare.
type compareRun struct {
	reader  reader
	world   *world // nil for a server
	other   *dnsServer
	clients []*inspect.Place // nil is nobody
	named   bool             // the clients are those of the flags
	names   []compareName

	mu       sync.Mutex // guards what follows
	found    *inspect.Comparison
	trees    map[string]*records.Tree
	nowhere  map[string]bool // the names that exist on neither side
	silent   int             // questions in a row without an answer
	asked    int
	expected int
}

// compareName is one name that is asked for.
type compareName struct {
	name  string
	types []string
	// chosen is true if members are chosen from here, by client.
	chosen bool
}

func newDNSServer(addr string, perSecond float64) *dnsServer {
	return &dnsServer{addr: addr, limiter: rate.NewLimiter(rate.Limit(perSecond), 1), recurse: true}
}

// do asks everything, and returns what differs. With an error it returns what has been found before, which tells why it ended; nil if
// there was no answer at all.
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

// tellNowhere warns of names that exist on neither side: a name that is misspelt is the same on both.
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

// clientsFor returns the clients that a name is asked for in any case.
func (r *compareRun) clientsFor(n *compareName) []*inspect.Place {
	if n.chosen || r.named {
		return r.clients
	}
	return r.clients[:1]
}

// name asks for one name and type: for all clients, or for one where nothing depends on the client.
func (r *compareRun) name(ctx context.Context, n *compareName, rtype string, p *progress) error {
	clients := r.clientsFor(n)
	for i := 0; i < len(clients); i++ {
		depends, err := r.one(ctx, n, rtype, clients[i], p)
		if err != nil {
			return err
		}
		if depends && len(clients) < len(r.clients) { // on the other side
			clients = r.clients
			r.mu.Lock()
			r.expected += len(clients) - 1
			r.mu.Unlock()
		}
	}
	return nil
}

// one asks one question, and reports whether the other server's answer depends on the client.
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

// unanswered counts a question without an answer; the error is that of a server that is away.
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
	if x == nil { // the name lies in no zone of ours
		x = &records.Explanation{
			Name: q.Name, Type: q.Type, Rcode: dns.RcodeToString[dns.RcodeRefused],
			Steps: []records.Step{{Name: q.Name, Type: q.Type, Found: records.FoundNothing, Ends: "the name is in no zone served here"}},
		}
	}
	var failed error // of what the comparison asks for
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

// explain returns our answer; nil if the name lies in no zone of ours.
func (r *compareRun) explain(ctx context.Context, q inspect.Question) (*records.Explanation, error) {
	return found(r.reader.Explain(ctx, q))
}

// found returns nil for what does not exist.
func found[T any](one *T, err error) (*T, error) {
	if of, ok := inspect.IsRequest(err); ok && of.NotFound {
		return nil, nil
	}
	return one, err
}

// tree returns what a name is made of, which is asked once; nil for nothing.
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
