package pool

import (
	"slices"

	"github.com/coredns-kuadrant/kuadrant/health"
)

// Cells are the health cells of one address: the override of its Gateway, the result of its own check, and those of the probes
// that have joined it (rule 4.10). Each is nil if there is none.
type Cells struct {
	Gateway, Check *health.Cell
	joined         *joined
}

// joined are the cells of probes. Cells can be compared, as a slice cannot.
type joined struct{ cells []*health.Cell }

// MaxJoined is how many probes can join at one address: each costs every query for it.
const MaxJoined = 16

// Class returns the class that the address is in by itself (rule 4.6). It reads each cell once.
func (c Cells) Class() Class { return c.classIf(false) }

// classIf returns the class of the address where the member that has it may be drained.
func (c Cells) classIf(drained bool) Class {
	word := c.Gateway.Load()
	state, forced := c.stateUnder(word)
	return classOf(state, forced, drained || word.Drained())
}

// meant returns the class of the address whatever checks have found. So it follows from the objects and the operator's words alone, and all
// servers transfer the same under one serial.
func (c Cells) meant(drained bool) Class {
	word := c.Gateway.Load()
	_, forced := c.stateUnder(word)
	return classOf(health.Up, forced, drained || word.Drained())
}

// State returns the state of the address, and whether it is forced down.
func (c Cells) State() (state health.State, forcedDown bool) { return c.stateUnder(c.Gateway.Load()) }

// stateUnder returns what State does, where word is said of the Gateway. The operator's word on the address goes first, then that
// on the Gateway, then the worst of what is found (rule 4.5).
func (c Cells) stateUnder(word health.Word) (state health.State, forcedDown bool) {
	check := c.Check.Load()
	for _, o := range [...]health.Override{check.Override(), word.Override()} {
		switch o {
		case health.ForceUp:
			return health.Up, false
		case health.ForceDown:
			return health.Down, true
		case health.NoOverride, health.Drain:
		}
	}
	worst := max(word.Found(), check.Found())
	if c.joined != nil {
		for _, cell := range c.joined.cells {
			worst = max(worst, cell.Load().State())
		}
	}
	return worst, false
}

// Checks returns the cells of the checks of the address.
func (c Cells) Checks() (all []*health.Cell) {
	if c.Check != nil {
		all = append(all, c.Check)
	}
	if c.joined != nil {
		all = append(all, c.joined.cells...)
	}
	return all
}

// Unchecked reports whether no check has found anything of the address, and nobody says that it is up: none is wanted, none may go
// there, or the first has not ended.
func (c Cells) Unchecked() bool {
	if c.Gateway.Load().Override() == health.ForceUp {
		return false
	}
	return !slices.ContainsFunc(c.Checks(), func(cell *health.Cell) bool {
		w := cell.Load()
		return w.Known() || w.Override() == health.ForceUp
	})
}

// Forbidden reports whether there are checks of the address, and none may go there (rule 4.9).
func (c Cells) Forbidden() bool {
	all := c.Checks()
	return len(all) > 0 && !slices.ContainsFunc(all, func(cell *health.Cell) bool { return cell.Load().Reason() != health.Forbidden })
}

// With returns c with what o says of the same address: of two Gateways the better word counts, and of checks all do.
func (c Cells) With(o Cells) Cells {
	c.Gateway = better(c.Gateway, o.Gateway)
	if o.Check == nil && o.joined == nil {
		return c
	}
	all := new(joined)
	if c.joined != nil {
		all.cells = slices.Clone(c.joined.cells)
	}
	for _, cell := range o.Checks() {
		switch {
		case cell == c.Check || slices.Contains(all.cells, cell):
		case c.Check == nil:
			c.Check = cell
		case len(all.cells) < MaxJoined:
			all.cells = append(all.cells, cell)
		}
	}
	if len(all.cells) > 0 {
		c.joined = all
	}
	return c
}

// better returns the cell of two Gateways that says the better of them: a where both say as much.
func better(a, b *health.Cell) *health.Cell {
	if (Cells{Gateway: b}).Class() < (Cells{Gateway: a}).Class() {
		return b
	}
	return a
}

// Aggregate returns the state of a member whose addresses have these cells, of which the first v4 are IPv4: up while at
// least half of them are, and unknown at best where all of one family are down (rule 4.5). It is forced down where all are.
func Aggregate(addresses []Cells, v4 int) (state health.State, forcedDown bool) {
	var up, unknown, forced int
	alive := [2]bool{v4 == 0, v4 == len(addresses)} // by family; one that there is nothing of has nothing down
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

// words are the cells that wordOf returns. Nobody writes to them.
var words = func() (cells [health.ForceDown + 1][2]*health.Cell) {
	for o := health.NoOverride; o <= health.ForceDown; o++ {
		for down := range cells[o] {
			if o == health.NoOverride && down == 0 {
				continue // nothing is said
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

// wordOf returns the cell of what the operator says, and of whether an object says besides that it is down; nil if nothing
// is said.
func wordOf(o health.Override, down bool) *health.Cell {
	if down {
		return words[o][1]
	}
	return words[o][0]
}
