package health

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coredns/coredns/plugin/pkg/dnstest"
	"github.com/coredns/coredns/plugin/test"
	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/geo"

	"github.com/coredns-kuadrant/kuadrant/internal/boottest"
)

var update = flag.Bool("update", false, "rewrite the expectations of testdata/health with what was seen")

var chaosSeed = flag.Uint64("chaos-seed", 0, "seed of TestHealthChaos; 0 for another one each time")

// How fast a chaos goes, and how long. The timeout is long because a connection has it in real time too, and a busy machine
// is no failure. A switch may be known so much later than its checks: first checks are spread over a second.
const (
	chaosInterval, chaosTimeout = 10 * time.Second, 9 * time.Second
	chaosLate                   = time.Second
	chaosTime                   = 15 * time.Minute
)

// TestHealthChaos switches targets off and on at random, while clients ask for
// all names all the time, objects change and servers are reloaded. Each answer is
// judged by the times of the switches: it holds nobody that should be known to be
// down while another member that should be known to be up is within reach, leaves
// out no address that should be known to be up, and comes from the nearest geography
// that should be known to be up.
func TestHealthChaos(t *testing.T) {
	seed := *chaosSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	for i, answer := range []string{"chain", "flatten"} {
		t.Run(answer, func(t *testing.T) {
			t.Parallel()
			t.Logf("-chaos-seed=%d", seed)
			c := newChaos(t, i, rand.New(rand.NewPCG(seed, uint64(i))))
			corefile := "kuadrant example.com {\nanswer " + answer + "\nprobe-allow 127.0.0.0/8\n}"
			synctest.Test(t, func(t *testing.T) { c.run(t, corefile) })
		})
	}
}

// chaosTarget is a listener that is switched off and on. mu is that of the chaos.
type chaosTarget struct {
	*listener
	on    bool
	since time.Time
}

// chaosMember is a member of a host, or all of a simple one.
type chaosMember struct {
	geo     string // of EU, NA and AS
	weight  int
	targets []*chaosTarget
}

// chaosHost is a name with what its policies say.
type chaosHost struct {
	name       string
	simple     bool
	fallback   string
	fall, rise int
	members    []*chaosMember
}

// chaos is everything around one server.
type chaos struct {
	t       *testing.T
	locator *geo.DB
	hosts   []*chaosHost
	targets []*chaosTarget
	// versions are two states of the objects, with other weights.
	versions [2][]*api.Cluster
	seeds    func() *rand.Rand // for one goroutine; called by one at a time

	server   atomic.Pointer[replica]
	mu       sync.Mutex
	reloaded time.Time // mu guards it

	switches, queries, avoided, opened, wrong atomic.Int64
}

const chaosNets = "10.1.0.0/16 DE\n10.2.0.0/16 US\n10.3.0.0/16 JP\n"

// newChaos makes what lives outside of the bubble: 105 targets, behind 30 hosts.
func newChaos(t *testing.T, place int, random *rand.Rand) *chaos {
	c := &chaos{t: t, locator: openNets(t, chaosNets)}
	c.seeds = func() *rand.Rand { return rand.New(rand.NewPCG(random.Uint64(), random.Uint64())) }
	port := newPorts(t, "PORT")["PORT"]
	target := func(h *chaosHost) *chaosTarget {
		kind := "tcp"
		if len(c.hosts)%4 == 0 {
			kind = "http"
		}
		if len(h.members) > 0 && len(h.members[0].targets) > 0 {
			kind = h.members[0].targets[0].kind
		}
		address := fmt.Sprintf("127.78.%d.%d", place, len(c.targets)+1)
		l := &chaosTarget{listener: listenAt(t, kind, address, port), on: true}
		c.targets = append(c.targets, l)
		return l
	}
	for i := range 10 {
		h := &chaosHost{name: fmt.Sprintf("simple%d", i), simple: true, fall: 2 + i%2, rise: 1, members: []*chaosMember{{}}}
		for range 3 {
			h.members[0].targets = append(h.members[0].targets, target(h))
		}
		c.hosts = append(c.hosts, h)
	}
	for i := range 20 {
		h := &chaosHost{name: fmt.Sprintf("geo%d", i), fallback: []string{"any", "any", "default", "none"}[i%4], fall: 2 + i%2, rise: 1 + i%3/2}
		for j, code := range []string{"EU", "NA", "AS"} {
			h.members = append(h.members, &chaosMember{geo: code, weight: 100, targets: []*chaosTarget{target(h)}})
			switch {
			case j == i%3 && i < 10: // a second member, drained or not
				h.members = append(h.members, &chaosMember{geo: code, weight: 50 * (i % 2), targets: []*chaosTarget{target(h)}})
			case j == i%3 && i < 10+5: // or a second address
				m := h.members[len(h.members)-1]
				m.targets = append(m.targets, target(h))
			}
		}
		c.hosts = append(c.hosts, h)
	}
	c.writeObjects(port)
	return c
}

// writeObjects reads both versions of the objects of all hosts.
func (c *chaos) writeObjects(port int) {
	files := newManifestFiles(c.t)
	for version := range c.versions {
		for _, h := range c.hosts {
			for i, m := range h.members {
				name := fmt.Sprintf("%s-%d", h.name, i)
				kind := "HTTP, path: /healthz"
				if m.targets[0].kind == "tcp" {
					kind = "TCP"
				}
				files.write("c/"+name+".yaml", h.manifest(m, name, kind, port, version))
			}
		}
		c.versions[version] = files.read()
	}
}

// manifest returns the Gateway and the policy of one member.
func (h *chaosHost) manifest(m *chaosMember, name, protocol string, port, version int) string {
	var addresses []string
	for _, t := range m.targets {
		addresses = append(addresses, "{value: "+t.address+"}")
	}
	more := ""
	if !h.simple {
		more = fmt.Sprintf("  loadBalancing: {weight: %d, geo: GEO-%s, defaultGeo: %v}\n", m.weight*(1+version), m.geo, m.geo == "NA")
	}
	return fmt.Sprintf(`apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {namespace: ns, name: %[1]s}
spec: {gatewayClassName: x, listeners: [{name: a, hostname: %[2]s.example.com, port: 80, protocol: HTTP}]}
status: {addresses: [%[3]s]}
---
apiVersion: kuadrant.io/v1
kind: DNSPolicy
metadata: {namespace: ns, name: %[1]s, annotations: {kuadrant.io/geo-fallback: %[4]s}}
spec:
  targetRef: {group: gateway.networking.k8s.io, kind: Gateway, name: %[1]s}
  healthCheck: {protocol: %[5]s, port: %[6]d, interval: %[7]s, timeout: %[8]s, failureThreshold: %[9]d, successThreshold: %[10]d}
%[11]s`, name, h.name, strings.Join(addresses, ", "), h.fallback, protocol, port, chaosInterval, chaosTimeout, h.fall, h.rise, more)
}

// run is the chaos in its bubble.
func (c *chaos) run(t *testing.T, corefile string) {
	c.t = t
	version := c.versions[0]
	c.server.Store(c.serve(t, corefile, version, nil))
	c.server.Load().show(version)

	stop := c.start(t.Context())
	for i := range int(chaosTime / (30 * time.Second)) {
		time.Sleep(30 * time.Second)
		version = c.versions[i%2]
		if i%9 == 5 {
			c.reload(t, corefile, version)
		}
		c.server.Load().show(version)
	}
	stop()
	c.finish()
}

// start lets the switches and the clients begin. What it returns waits for their
// end and reports how much there was.
func (c *chaos) start(ctx context.Context) (stop func()) {
	begin := time.Now()
	for _, target := range c.targets {
		target.since = begin
	}
	ctx, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	for i, target := range c.targets {
		random := c.seeds()
		if i%2 == 0 {
			c.set(target, random.IntN(2) == 0, random)
		}
		all.Go(func() { c.flip(ctx, target, random) })
	}
	for range 2 {
		random := c.seeds()
		all.Go(func() { c.ask(ctx, random) })
	}
	random := c.seeds()
	all.Go(func() { c.storm(ctx, random) })
	return func() {
		cancel()
		all.Wait()
		c.t.Logf("%d switches, %d queries; %d answers left out who was down, %d had no choice",
			c.switches.Load(), c.queries.Load(), c.avoided.Load(), c.opened.Load())
		if c.avoided.Load() == 0 || c.opened.Load() == 0 {
			c.t.Error("nothing was to be seen of any switch")
		}
	}
}

// finish switches everything on, and sees to it that all are known to be up in
// time.
func (c *chaos) finish() {
	random := c.seeds()
	for _, target := range c.targets {
		c.set(target, true, random)
	}
	time.Sleep(2*chaosInterval*11/10 + chaosLate)
	synctest.Wait()
	for _, target := range c.server.Load().engine.Snapshot().Checks().All() {
		if s := stateOf(target); s != "up" {
			c.t.Errorf("%s is %s in the end", target.URL(), s)
		}
	}
	c.server.Load().engine.Stop()
}

// serve starts a server that any number of goroutines may ask.
func (c *chaos) serve(t *testing.T, corefile string, clusters []*api.Cluster, before *replica) *replica {
	r := newReplica(t, corefile, c.locator, clusters, before)
	if before == nil { // else it is asked already
		r.engine.Random = rand.Uint64
	}
	return r
}

// reload puts a new server into the place of the one that runs.
func (c *chaos) reload(t *testing.T, corefile string, clusters []*api.Cluster) {
	before := c.server.Load()
	next := c.serve(t, corefile, clusters, before)
	c.mu.Lock()
	c.reloaded = time.Now()
	c.mu.Unlock()
	c.server.Store(next)
}

// set switches a target. An HTTP server may be off in two ways.
func (c *chaos) set(target *chaosTarget, on bool, random *rand.Rand) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if target.on == on {
		return
	}
	switch {
	case on:
		target.works(c.t)
	case target.kind == "http" && random.IntN(2) == 0:
		target.down.Store(true)
	default:
		target.refuse()
	}
	target.on, target.since = on, time.Now()
	c.switches.Add(1)
}

// flip switches one target over and over: it stays as it is for a moment, or long
// enough for everybody to know.
func (c *chaos) flip(ctx context.Context, target *chaosTarget, random *rand.Rand) {
	for {
		stay := 2 * time.Duration(random.Int64N(int64(chaosInterval)))
		if random.IntN(3) > 0 {
			stay = 2*chaosInterval + 10*time.Duration(random.Int64N(int64(chaosInterval)))
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(stay):
		}
		c.mu.Lock()
		on := target.on
		c.mu.Unlock()
		c.set(target, !on, random)
	}
}

// storm switches all targets of a host off, so that there is no choice left.
func (c *chaos) storm(ctx context.Context, random *rand.Rand) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(2 * chaosInterval):
		}
		for _, m := range c.hosts[random.IntN(len(c.hosts))].members {
			for _, target := range m.targets {
				c.set(target, false, random)
			}
		}
	}
}

// ask asks for all names from one client after the other.
func (c *chaos) ask(ctx context.Context, random *rand.Rand) {
	from := []struct{ geo, prefix string }{{"EU", "10.1"}, {"NA", "10.2"}, {"AS", "10.3"}, {"", "172.16"}}
	for {
		client := from[random.IntN(len(from))]
		address := fmt.Sprintf("%s.%d.%d", client.prefix, random.IntN(256), random.IntN(256))
		for _, h := range c.hosts {
			reply, err := c.serveDNS(context.WithoutCancel(ctx), h.name+".example.com.", address)
			c.queries.Add(1)
			if err != nil || reply == nil || reply.Rcode != dns.RcodeSuccess || len(reply.Answer) == 0 {
				c.complain(h, client.geo, reply, fmt.Sprintf("no answer: %v", err))
				continue
			}
			c.mu.Lock()
			fault := c.judge(h, client.geo, reply)
			c.mu.Unlock()
			if fault != "" {
				c.complain(h, client.geo, reply, fault)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Duration(200+random.IntN(1600)) * time.Millisecond):
		}
	}
}

// serveDNS asks the server in the bubble.
func (c *chaos) serveDNS(ctx context.Context, name, client string) (*dns.Msg, error) {
	rec := dnstest.NewRecorder(&test.ResponseWriter{RemoteIP: client})
	_, err := c.server.Load().plugin.ServeDNS(ctx, rec, boottest.Question(name, dns.TypeA))
	return rec.Msg, err
}

// complain reports what is wrong with an answer, the first few times.
func (c *chaos) complain(h *chaosHost, place string, m *dns.Msg, fault string) {
	if c.wrong.Add(1) > 5 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	var what strings.Builder
	for _, m := range h.members {
		for _, t := range m.targets {
			fmt.Fprintf(&what, "\n%s weight %d %s: on %v for %v", m.geo, m.weight, t.address, t.on, time.Since(t.since))
		}
	}
	c.t.Errorf("%s of %s (%s) after %v: %s%s\n%v", h.name, place, h.fallback, time.Since(c.reloaded), fault, what.String(), m)
}
