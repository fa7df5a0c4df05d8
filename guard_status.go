package kuadrant

import (
	"reflect"
	"slices"
	"time"

	"github.com/coredns-kuadrant/kuadrant/api"
)

const (
	// statusGuard is how long what vanishes from the status of a Gateway is held
	// (rule 8.5): a controller that restarts may write a status that it has not worked
	// out yet.
	statusGuard = 30 * time.Second
	// maxHeldAddresses bounds the addresses that are held of one Gateway: four times what
	// an API server lets it have.
	maxHeldAddresses = 64
)

// heldStatus is what has vanished from the status of a Gateway and is held.
type heldStatus struct {
	addresses []heldAddress
	routes    []heldRoutes
	names     zoneNames // the hosts of the Gateway
}

type heldAddress struct {
	api.Address
	until time.Time
}

// heldRoutes says that a listener has had routes.
type heldRoutes struct {
	listener string
	routes   int32
	until    time.Time
}

// until returns when the last of it ends.
func (h *heldStatus) until() (last time.Time) {
	for _, a := range h.addresses {
		if a.until.After(last) {
			last = a.until
		}
	}
	for _, r := range h.routes {
		if r.until.After(last) {
			last = r.until
		}
	}
	return last
}

// next returns when the first of it ends.
func (h *heldStatus) next() time.Time {
	first := h.until()
	for _, a := range h.addresses {
		if a.until.Before(first) {
			first = a.until
		}
	}
	for _, r := range h.routes {
		if r.until.Before(first) {
			first = r.until
		}
	}
	return first
}

// holdStatus returns what is to be compiled of a Gateway that was compiled as before, and
// is published as after: with the addresses and routes that it had, where its spec is the
// same. held is what was held until now; nil for nothing, as in the result.
//
// A Gateway without a generation counts as one with another spec: what writes no generation
// is no API server. returned tells that the Gateway was gone, is there again, and was held
// back meanwhile: whoever creates it anew does so without a status. The same goes for another
// object of that name, where nothing was published in between: an API server that is restored
// may have it again before its objects are listed.
func holdStatus(before, after *api.Gateway, held *heldStatus, returned bool, now time.Time) (*api.Gateway, *heldStatus) {
	same := after.Generation != 0 && before.Generation == after.Generation && before.UID == after.UID
	anew := !before.Deleting && (returned || after.Generation != 0 && before.UID != after.UID) && len(after.Addresses) == 0 && sameListeners(before, after)
	if !same && !anew || after.Deleting {
		return after, nil
	}
	h := &heldStatus{addresses: holdAddresses(before, after, held, now), routes: holdRoutes(before, after, held, now)}
	if len(h.addresses)+len(h.routes) == 0 {
		return after, nil
	}
	if held != nil {
		h.names = held.names
	}
	merged := *after
	merged.Addresses = slices.Clip(slices.Clone(after.Addresses))
	for _, a := range h.addresses {
		merged.Addresses = append(merged.Addresses, a.Address)
	}
	merged.Listeners = slices.Clone(after.Listeners)
	for _, r := range h.routes {
		for i := range merged.Listeners {
			if l := &merged.Listeners[i]; l.Name == r.listener && l.AttachedRoutes == 0 {
				l.AttachedRoutes = r.routes
			}
		}
	}
	if reflect.DeepEqual(&merged, before) {
		return before, h
	}
	return &merged, h
}

// sameListeners tells whether two Gateways listen for the same.
func sameListeners(a, b *api.Gateway) bool {
	return slices.EqualFunc(a.Listeners, b.Listeners, func(a, b api.Listener) bool {
		a.AttachedRoutes = b.AttachedRoutes
		return a == b
	})
}

// holdAddresses returns the addresses that have vanished and are held.
func holdAddresses(before, after *api.Gateway, held *heldStatus, now time.Time) (all []heldAddress) {
	for _, a := range before.Addresses {
		if slices.Contains(after.Addresses, a) || !beside(a, after.Addresses) || slices.ContainsFunc(all, func(h heldAddress) bool { return h.Address == a }) {
			continue
		}
		until := now.Add(statusGuard)
		if held != nil {
			if i := slices.IndexFunc(held.addresses, func(h heldAddress) bool { return h.Address == a }); i >= 0 {
				until = held.addresses[i].until
			}
		}
		if now.Before(until) {
			all = append(all, heldAddress{a, until})
		}
	}
	if len(all) > maxHeldAddresses {
		slices.SortStableFunc(all, func(a, b heldAddress) int { return b.until.Compare(a.until) })
		all = all[:maxHeldAddresses]
	}
	return all
}

// beside tells whether an address can be served beside others: of two kinds at one name one
// is dropped (rule 1.7), and a policy with both forms of clusters is not enforced (rule 1.3).
// What is new must not suffer for what has gone.
func beside(a api.Address, others []api.Address) bool {
	return !slices.ContainsFunc(others, func(o api.Address) bool { return o.Type != a.Type })
}

// holdRoutes returns the listeners that had routes, have none, and are published as if they
// had.
func holdRoutes(before, after *api.Gateway, held *heldStatus, now time.Time) (all []heldRoutes) {
	for _, l := range after.Listeners {
		i := slices.IndexFunc(before.Listeners, func(o api.Listener) bool { return o.Name == l.Name && o.Hostname == l.Hostname })
		// Without a status entry a listener is published (rule 1.2), and has no routes that
		// could vanish.
		if l.AttachedRoutes != 0 || i < 0 || before.Listeners[i].AttachedRoutes <= 0 {
			continue
		}
		until := now.Add(statusGuard)
		if held != nil {
			if j := slices.IndexFunc(held.routes, func(h heldRoutes) bool { return h.listener == l.Name }); j >= 0 {
				until = held.routes[j].until
			}
		}
		if now.Before(until) {
			all = append(all, heldRoutes{l.Name, before.Listeners[i].AttachedRoutes, until})
		}
	}
	return all
}
