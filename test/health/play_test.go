package health

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/health"

	"github.com/coredns-kuadrant/kuadrant/internal/boottest"
)

// healthPlay is a scenario being played, in its bubble.
type healthPlay struct {
	*healthScenario
	t        *testing.T
	begin    time.Time
	clusters []*api.Cluster
	replicas []*replica
	hits     map[*listener]int64 // at the last hits step
}

// play plays all sections, and records the results in h.seen.
func (h *healthScenario) play(t *testing.T) {
	p := &healthPlay{healthScenario: h, t: t, begin: time.Now(), hits: make(map[*listener]int64)}
	for i, f := range h.seen.Files {
		if f.Name != "play" {
			continue
		}
		if clusters := h.steps[i]; clusters != nil {
			p.clusters = clusters
			for len(p.replicas) < h.replicas {
				p.replicas = append(p.replicas, newReplica(t, h.corefile, h.locator, clusters, nil))
			}
			for _, r := range p.replicas {
				r.show(clusters)
			}
		}
		h.seen.Files[i].Data = p.section(string(f.Data))
	}
	for _, r := range p.replicas {
		r.engine.Stop()
	}
}

// section plays the steps of one section, and returns them with the results.
func (p *healthPlay) section(text string) []byte {
	var out strings.Builder
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, ">") {
			continue
		}
		out.WriteString(line)
		words := strings.Fields(line)
		if len(words) == 0 || words[0] == "#" {
			continue
		}
		p.until(words[0])
		for _, seen := range p.act(words[1], words[2:]) {
			out.WriteString("> " + strings.ReplaceAll(seen, "\n", "\n> ") + "\n")
		}
	}
	return []byte(out.String())
}

// until advances time to a step's time, and lets everything due happen.
func (p *healthPlay) until(at string) {
	after, relative := strings.CutPrefix(at, "+")
	d, err := time.ParseDuration(after)
	if err != nil {
		p.t.Fatalf("step at %q: %v", at, err)
	}
	if !relative {
		if d -= time.Since(p.begin); d < 0 {
			p.t.Fatalf("step at %s: it is %s already", at, time.Since(p.begin))
		}
	}
	time.Sleep(d)
	synctest.Wait()
}

// act performs a step, and returns the result.
func (p *healthPlay) act(action string, args []string) []string {
	switch action {
	case "ask":
		return p.ask(args)
	case "ready":
		return p.each(func(r *replica) string { return fmt.Sprint(r.plugin.Ready()) })
	case "targets":
		return p.each(func(r *replica) string { return fmt.Sprint(r.engine.Snapshot().Checks().Len()) })
	case "reload":
		for i, before := range p.replicas {
			p.replicas[i] = newReplica(p.t, p.corefile, p.locator, p.clusters, before)
			p.replicas[i].show(p.clusters)
		}
		return nil
	case "checks":
		n, err := strconv.Atoi(args[0])
		if err != nil {
			p.t.Fatal(err)
		}
		p.await(n, p.target(args[1]), args[2:])
		return nil
	}
	target := p.target(args[0])
	switch action {
	case "down":
		target.down.Store(true)
	case "up":
		target.status.Store(0)
		target.works(p.t)
	case "refuse":
		target.refuse()
	case "status":
		code, err := strconv.Atoi(args[1])
		if err != nil {
			p.t.Fatal(err)
		}
		target.status.Store(int64(code))
	case "state":
		return p.each(func(r *replica) string { return stateOf(p.checked(r, target, args[1:])) })
	case "hits":
		p.bounded(target, args[1])
	default:
		p.t.Fatalf("no action %q", action)
	}
	return nil
}

func (p *healthPlay) target(name string) *listener {
	l := p.targets[name]
	if l == nil {
		p.t.Fatalf("no target %q", name)
	}
	return l
}

// each returns the results of all servers, or one result if they agree.
func (p *healthPlay) each(say func(*replica) string) (lines []string) {
	for _, r := range p.replicas {
		if line := say(r); !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	return lines
}

// option returns the value of KEY=VALUE among words; "" for none.
func option(words []string, key string) string {
	for _, w := range words {
		if k, value, ok := strings.Cut(w, "="); ok && k == key {
			return value
		}
	}
	return ""
}

// checked returns a server's health target for a listener.
func (p *healthPlay) checked(r *replica, l *listener, words []string) *health.Target {
	host := option(words, "host")
	var found []*health.Target
	for _, c := range r.engine.Snapshot().Checks().All() {
		if c.Address == l.address && int(c.Port) == l.port && (host == "" || c.Host == host) {
			found = append(found, c)
		}
	}
	if len(found) != 1 {
		p.t.Fatalf("%d targets at %s port %d for host %q, want one", len(found), l.address, l.port, host)
	}
	return found[0]
}

// stateOf returns the known state of a target.
func stateOf(t *health.Target) string {
	w := t.Cell.Load()
	line := w.Found().String()
	if !w.Checked() {
		line = "pending"
	}
	if n := w.Failures(); n > 0 {
		line += fmt.Sprintf(" failures=%d", n)
	}
	if n := w.Successes(); n > 0 && w.Found() != health.Up {
		line += fmt.Sprintf(" successes=%d", n)
	}
	if w.Reason() != health.Good {
		line += " " + w.Reason().String()
	}
	if w.Status() != 0 && w.Reason() != health.Good {
		line += fmt.Sprintf(" %d", w.Status())
	}
	return line
}

// await advances time until each server has checked a target n more times.
func (p *healthPlay) await(n int, l *listener, words []string) {
	start := time.Now()
	late := time.After(time.Hour)
	for _, r := range p.replicas {
		t := p.checked(r, l, words)
		name := checkName(t.Address, t.Port, t.Host)
		for want := r.checks(name) + n; r.checks(name) < want; {
			select {
			case <-r.bell:
			case <-late:
				p.t.Fatalf("%d checks of %s in an hour, want %d", r.checks(name)-want+n, l.address, n)
			}
		}
	}
	synctest.Wait() // a check ends a little before its cell is written
	if in := option(words, "in"); in != "" {
		least, most := p.bounds(in, time.ParseDuration)
		if took := time.Since(start); took < least || took > most {
			p.t.Errorf("%d checks of %s took %s, want %s", n, l.address, took, in)
		}
	}
}

// bounded fails the test unless the number of requests to a target since the last call is within
// bounds.
func (p *healthPlay) bounded(l *listener, bounds string) {
	least, most := p.bounds(bounds, func(s string) (time.Duration, error) {
		n, err := strconv.Atoi(s)
		return time.Duration(n), err
	})
	n := l.asked.Load() - p.hits[l]
	p.hits[l] += n
	if time.Duration(n) < least || time.Duration(n) > most {
		p.t.Errorf("%s was asked %d times, want %s", l.address, n, bounds)
	}
}

// bounds parses MIN..MAX.
func (p *healthPlay) bounds(text string, read func(string) (time.Duration, error)) (least, most time.Duration) {
	from, to, _ := strings.Cut(text, "..")
	least, err := read(from)
	if err != nil {
		p.t.Fatal(err)
	}
	if most, err = read(to); err != nil {
		p.t.Fatal(err)
	}
	return least, most
}

// ask asks one question, as a step says.
func (p *healthPlay) ask(words []string) []string {
	m := new(dns.Msg).SetQuestion(dns.Fqdn(words[0]), dns.StringToType[words[1]])
	from := option(words, "from")
	if from == "" {
		from = "192.0.2.200"
	}
	if ecs := option(words, "ecs"); ecs != "" {
		subnet := netip.MustParsePrefix(ecs)
		boottest.WithSubnet(m, 1, subnet.Addr().String(), uint8(subnet.Bits()), 0)
	}
	one := func(r *replica) string { return r.found(m.Copy(), from, slices.Contains(words, "chain")) }
	times, _ := strconv.Atoi(option(words, "times"))
	length, _ := time.ParseDuration(option(words, "for"))
	every, _ := time.ParseDuration(option(words, "every"))
	if every > 0 {
		times = int(length / every)
	}
	if times == 0 {
		return p.each(one)
	}
	counts := make(map[string]int)
	for range times {
		for _, r := range p.replicas {
			counts[one(r)]++
		}
		time.Sleep(every)
		synctest.Wait()
	}
	times *= len(p.replicas)
	var lines []string
	for answer, n := range counts {
		lines = append(lines, fmt.Sprintf("%3d%% %s", (n*20+times/2)/times*5, answer))
	}
	slices.Sort(lines)
	return lines
}
