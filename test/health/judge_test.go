package health

import (
	"fmt"
	"slices"
	"time"

	"github.com/miekg/dns"
)

// knownDown tells whether every server has had the time to find out that a target
// is down: as many checks as the threshold says, at their longest distance. A
// reload may make one of them late by an interval. The caller holds mu.
func (c *chaos) knownDown(h *chaosHost, t *chaosTarget) bool {
	return !t.on && time.Since(t.since) > c.longest(h.fall, t)
}

// knownUp is the same for a target that works. The caller holds mu.
func (c *chaos) knownUp(h *chaosHost, t *chaosTarget) bool {
	return t.on && time.Since(t.since) > c.longest(h.rise, t)
}

// longest returns how long it may take until a switch is known. The caller holds
// mu.
func (c *chaos) longest(checks int, t *chaosTarget) time.Duration {
	if c.reloaded.After(t.since) {
		checks++
	}
	return time.Duration(checks)*chaosInterval*11/10 + chaosLate
}

// up tells whether a member is known to be up: at least half of its addresses are
// (rule 4.5). The caller holds mu.
func (c *chaos) up(h *chaosHost, m *chaosMember) bool {
	n := 0
	for _, t := range m.targets {
		if c.knownUp(h, t) {
			n++
		}
	}
	return 2*n >= len(m.targets)
}

// Ranks of geographies, nearest first (rule 4.6).
const (
	chaosOwn = iota
	chaosDefault
	chaosOther
)

// rank returns how far a member is from a client.
func (m *chaosMember) rank(client string) int {
	switch m.geo {
	case client:
		return chaosOwn
	case "NA":
		return chaosDefault
	}
	return chaosOther
}

// reach returns the members that may answer a client: kuadrant.io/geo-fallback
// bounds how far they are.
func (h *chaosHost) reach(client string) (members []*chaosMember) {
	nearest := chaosOther
	for _, m := range h.members {
		nearest = min(nearest, m.rank(client))
	}
	farthest := map[string]int{"": chaosOther, "any": chaosOther, "default": chaosDefault, "none": nearest}[h.fallback]
	for _, m := range h.members {
		if m.rank(client) <= farthest {
			members = append(members, m)
		}
	}
	return members
}

// judge returns what is wrong with an answer to a client in the given place, ""
// for nothing. The caller holds mu.
func (c *chaos) judge(h *chaosHost, client string, reply *dns.Msg) string {
	var addresses []string
	for _, rr := range reply.Answer {
		if a, ok := rr.(*dns.A); ok {
			addresses = append(addresses, a.A.String())
		}
	}
	reach := h.reach(client)
	from := slices.IndexFunc(reach, func(m *chaosMember) bool {
		return slices.ContainsFunc(m.targets, func(t *chaosTarget) bool { return len(addresses) > 0 && t.address == addresses[0] })
	})
	if from < 0 {
		return "an answer without addresses of a member in reach"
	}
	m := reach[from]
	another := false // is known to be up
	for i, o := range reach {
		known := c.up(h, o)
		another = another || known && i != from
		if known && !h.simple && o.weight > 0 && (m.weight == 0 || m.rank(client) > o.rank(client)) {
			return "a weighted member that is nearer is known to be up"
		}
	}
	return c.judgeMember(h, m, addresses, another)
}

// judgeMember judges the addresses of the member that was chosen. another says that
// another one within reach is known to be up.
func (c *chaos) judgeMember(h *chaosHost, m *chaosMember, addresses []string, another bool) string {
	own, answered, dead, left := false, 0, "", 0
	for _, t := range m.targets {
		has := slices.Contains(addresses, t.address)
		if has {
			answered++
		}
		switch {
		case c.knownUp(h, t):
			if own = true; !has {
				return t.address + " is left out and known to be up"
			}
		case c.knownDown(h, t) && has:
			dead = t.address
		case c.knownDown(h, t):
			left++
		}
	}
	if answered != len(addresses) {
		return fmt.Sprintf("%d of %d addresses are of one member", answered, len(addresses))
	}
	if dead != "" && (own || another) {
		return dead + " is known to be down, and another one to be up"
	}
	if dead != "" {
		c.opened.Add(1)
	}
	if left > 0 {
		c.avoided.Add(1)
	}
	return ""
}
