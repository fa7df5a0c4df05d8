package kuadrant

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"github.com/miekg/dns"
)

var chaosClock = flag.Duration("chaos-clock", 0, "how long TestHealthChaosClock lasts; 0 to skip it")

// TestHealthChaosClock is the chaos by the clock on the wall: a whole server, asked
// through its socket, and targets of which some accept and say nothing, each of which
// takes a timeout. Its bound is rule 4.3 with that timeout and a second. As it
// judges by time, it wants a machine that has nothing else to do, and is run by
// hand: go test -run TestHealthChaosClock -chaos-clock=3m .
func TestHealthChaosClock(t *testing.T) {
	if *chaosClock == 0 {
		t.Skip("it judges by the clock: -chaos-clock=3m runs it")
	}
	seed := *chaosSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	pace := chaosPace{interval: 3 * time.Second, timeout: 1500 * time.Millisecond, silent: true}
	pace.late = pace.timeout + time.Second
	for i, answer := range []string{"chain", "flatten"} {
		t.Run(answer, func(t *testing.T) {
			t.Logf("-chaos-seed=%d", seed)
			c := newChaos(t, pace, i, rand.New(rand.NewPCG(seed, uint64(i))))
			c.runByClock(answer) // one after the other: a process has one CoreDNS
		})
	}
}

// runByClock is the chaos around a server of its own.
func (c *chaos) runByClock(answer string) {
	nets := filepath.Join(c.t.TempDir(), "nets")
	writeFile(c.t, nets, chaosNets)
	inst, addr := boot(c.t, fmt.Sprintf(`example.com:0 {
	bind 127.0.0.1
	kuadrant {
		manifests %s
		answer %s
		nets %s
		probe-allow 127.0.0.0/8
	}
}`, c.manifests, answer, nets))
	c.t.Cleanup(func() {
		if err := inst.Stop(); err != nil {
			c.t.Error(err)
		}
	})
	c.exchange = func(ctx context.Context, name, client string) (*dns.Msg, error) {
		m, _, err := new(dns.Client).ExchangeContext(ctx, withSubnet(question(name, dns.TypeA), 1, client, 32, 0), addr)
		return m, err
	}
	waitFor(c.t, "answer to every name", func() bool {
		for _, h := range c.hosts {
			if m, err := c.exchange(c.t.Context(), h.name+".example.com.", "10.1.0.1"); err != nil || len(m.Answer) == 0 {
				return false
			}
		}
		return true
	})
	stop := c.start(c.t.Context())
	time.Sleep(*chaosClock)
	stop()
}
