package derive

import (
	"slices"
	"strings"
)

// index is a Collection that has the items of other collections in another order.
type index[V any, E comparable] struct {
	Collection[[]E]
	of      []*Collection[V]
	split   func(v V, yield func(key string, item E))
	compare func(a, b E) int
}

// Index adds a step to g that has the items of all values of some collections by other
// keys. split yields the items of a value, each with its key; it is a pure function,
// yields no item twice under one key, and the items of two values differ. The items of
// one key are in the order of compare. name is the step's own within g. The slices of
// items are shared: nobody may change them.
func Index[V any, E comparable](g *Graph, name string, of []*Collection[V], compare func(a, b E) int, split func(v V, yield func(key string, item E))) *Collection[[]E] {
	x := &index[V, E]{Collection: Collection[[]E]{node: node{name: name}, same: slices.Equal[[]E]}, of: of, split: split, compare: compare}
	x.adopt(g)
	g.steps = append(g.steps, x)
	return &x.Collection
}

// move is an item that comes to a key, or goes from it.
type move[E any] struct {
	key  string
	item E
	gone bool
}

func (x *index[V, E]) run() {
	moves := x.moves()
	edit := x.begin()
	for len(moves) > 0 {
		n := 1
		for n < len(moves) && moves[n].key == moves[0].key {
			n++
		}
		key := moves[0].key
		before, _ := x.was.Get(key)
		after := x.apply(before, moves[:n])
		x.put(edit, key, after, len(after) > 0)
		moves = moves[n:]
	}
	x.now, x.old = edit.Map(), nil
}

// moves returns what the changes of the collections move, by key.
func (x *index[V, E]) moves() []move[E] {
	var all []move[E]
	for _, c := range x.of {
		all = slices.Grow(all, len(c.changed))
		for _, key := range c.changed {
			if v, ok := c.was.Get(key); ok {
				x.split(v, func(key string, item E) { all = append(all, move[E]{key, item, true}) })
			}
			if v, ok := c.now.Get(key); ok {
				x.split(v, func(key string, item E) { all = append(all, move[E]{key, item, false}) })
			}
		}
	}
	slices.SortStableFunc(all, func(a, b move[E]) int { return strings.Compare(a.key, b.key) })
	return all
}

// apply returns the items of one key after the moves there.
func (x *index[V, E]) apply(before []E, moves []move[E]) []E {
	if len(before) == 0 && len(moves) == 1 && !moves[0].gone {
		return []E{moves[0].item} // by far the most
	}
	count := make(map[E]int, len(moves))
	for _, m := range moves {
		count[m.item] += 1 - 2*btoi(m.gone)
	}
	after := make([]E, 0, len(before)+len(moves))
	for _, item := range before {
		if count[item] >= 0 {
			after = append(after, item)
		}
	}
	for _, m := range moves {
		if count[m.item] > 0 {
			count[m.item] = 0
			after = append(after, m.item)
		}
	}
	slices.SortFunc(after, x.compare)
	return slices.Clip(after)
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}
