package pool

import (
	"slices"

	"github.com/coredns-kuadrant/kuadrant/health"
)

// Cells are the health cells of one address: its Gateway's override, its own check, and the probes that joined it (rule 4.10). Each is nil
// if there is none.
type Cells struct {
	Gateway, Check *health.Cell
	joined         *joined
}

// joined are the cells of probes, behind a pointer: Cells must be comparable.
type joined struct {
	cells []*health.Cell
	// behind are the cells of the status addresses that are checked in place of the address (rule 9.6), the first v4 of them not IPv6.
	// Which of them it leads to is not known, so its state is that of a member with all of them (rule 4.5).
	behind []Cells
	v4     int
}

// maxBehind bounds those of several Gateways: a query reads each.
const maxBehind = 64

// MaxJoined bounds the probes that join at one address: every query for it reads each.
const MaxJoined = 16

// Class returns the address's own class (rule 4.6). It reads each cell once.
func (c Cells) Class() Class { return c.classIf(false) }

// classIf returns the address's class if its member is drained or not.
func (c Cells) classIf(drained bool) Class {
	gateway := c.Gateway.Load()
	state, forced := c.stateUnder(gateway)
	return classOf(state, forced, drained || gateway.Drained())
}

// meant returns the address's class regardless of checks. It follows from objects and overrides alone, so that all servers transfer the
// same under one serial.
func (c Cells) meant(drained bool) Class {
	gateway := c.Gateway.Load()
	_, forced := c.stateUnder(gateway)
	return classOf(health.Up, forced, drained || gateway.Drained())
}

// State returns the address's state, and whether it is forced down.
func (c Cells) State() (state health.State, forcedDown bool) { return c.stateUnder(c.Gateway.Load()) }

// stateUnder is State with gateway for the Gateway. An override of the address comes first, then one of the Gateway, then the worst check
// result (rule 4.5).
func (c Cells) stateUnder(gateway health.Value) (state health.State, forcedDown bool) {
	check := c.Check.Load()
	for _, o := range [...]health.Override{check.Override(), gateway.Override()} {
		switch o {
		case health.ForceUp:
			return health.Up, false
		case health.ForceDown:
			return health.Down, true
		case health.NoOverride, health.Drain:
		}
	}
	worst := max(gateway.Found(), check.Found())
	if c.joined != nil {
		for _, cell := range c.joined.cells {
			worst = max(worst, cell.Load().State())
		}
		behind, _ := Aggregate(c.joined.behind, c.joined.v4)
		worst = max(worst, behind)
	}
	return worst, false
}

// Checks returns the cells of the address's checks.
func (c Cells) Checks() (all []*health.Cell) {
	if all = c.own(); c.joined != nil {
		for _, at := range c.joined.behind {
			all = append(all, at.own()...)
		}
	}
	return all
}

// own returns the cells of the checks that go to the address itself.
func (c Cells) own() (all []*health.Cell) {
	if c.Check != nil {
		all = append(all, c.Check)
	}
	if c.joined != nil {
		all = append(all, c.joined.cells...)
	}
	return all
}

// Unchecked reports whether no check has a result for the address, and no override says that it is up: none is wanted, none is allowed, or
// the first has not ended.
func (c Cells) Unchecked() bool {
	if c.Gateway.Load().Override() == health.ForceUp {
		return false
	}
	return !slices.ContainsFunc(c.Checks(), func(cell *health.Cell) bool {
		w := cell.Load()
		return w.Known() || w.Override() == health.ForceUp
	})
}

// Forbidden reports whether the address has checks that are not allowed to run (rule 4.9).
func (c Cells) Forbidden() bool {
	all := c.Checks()
	return len(all) > 0 && !slices.ContainsFunc(all, func(cell *health.Cell) bool { return cell.Load().Reason() != health.Forbidden })
}

// With returns c combined with o, for the same address: the better of two Gateways' cells counts, and all checks do.
func (c Cells) With(o Cells) Cells {
	c.Gateway = better(c.Gateway, o.Gateway)
	if o.Check == nil && o.joined == nil {
		return c
	}
	all := new(joined)
	if c.joined != nil {
		*all = *c.joined
		all.cells = slices.Clone(all.cells)
	}
	if j := o.joined; j != nil && len(all.behind)+len(j.behind) <= maxBehind {
		all.behind = slices.Concat(all.behind[:all.v4], j.behind[:j.v4], all.behind[all.v4:], j.behind[j.v4:])
		all.v4 += j.v4
	}
	for _, cell := range o.own() {
		switch {
		case cell == c.Check || slices.Contains(all.cells, cell):
		case c.Check == nil:
			c.Check = cell
		case len(all.cells) < MaxJoined:
			all.cells = append(all.cells, cell)
		}
	}
	if len(all.cells)+len(all.behind) > 0 {
		c.joined = all
	}
	return c
}

// better returns the better of two Gateways' cells; a if they are equal.
func better(a, b *health.Cell) *health.Cell {
	if (Cells{Gateway: b}).Class() < (Cells{Gateway: a}).Class() {
		return b
	}
	return a
}

// Aggregate returns the state of a member from its addresses' cells, of which the first v4 are IPv4: up if at least half are up, but at
// best unknown if all of one family are down (rule 4.5). It is forced down if all are.
func Aggregate(addresses []Cells, v4 int) (state health.State, forcedDown bool) {
	var up, unknown, forced int
	alive := [2]bool{v4 == 0, v4 == len(addresses)} // by family; a family without addresses is not down
	for i, c := range addresses {
		state, force := c.State()
		switch {
		case force:
			forced++
		case state == health.Up:
			up++
		case state == health.Unknown:
			unknown++
		}
		if state != health.Down {
			family := 0
			if i >= v4 {
				family = 1
			}
			alive[family] = true
		}
	}
	switch n := len(addresses); {
	case 2*up >= n && alive[0] && alive[1]:
		return health.Up, false
	case 2*(up+unknown) >= n:
		return health.Unknown, false
	default:
		return health.Down, forced == n
	}
}

// gatewayCells are those that gatewayCell returns. They are read-only.
var gatewayCells = func() (cells [health.ForceDown + 1][2]*health.Cell) {
	for o := health.NoOverride; o <= health.ForceDown; o++ {
		for down := range cells[o] {
			if o == health.NoOverride && down == 0 {
				continue // no override
			}
			c := new(health.Cell)
			if down == 1 {
				c.Set(health.Down)
			}
			c.Override(o)
			cells[o][down] = c
		}
	}
	return cells
}()

// gatewayCell returns the cell for an override and for whether an object also says that the address is down; nil for neither.
func gatewayCell(o health.Override, down bool) *health.Cell {
	if down {
		return gatewayCells[o][1]
	}
	return gatewayCells[o][0]
}
