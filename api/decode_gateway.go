package api

import (
	"fmt"
	"math"
	"slices"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// DecodeGateway reads a Gateway (gateway.networking.k8s.io/v1, or v1beta1, which
// has the same form) of the given cluster from JSON, and keeps what is used of
// it. It returns an error where the text is not JSON or names no object;
// whatever else cannot be read is left out and named in the Gateway's Fault.
// The Gateway does not refer to json.
func DecodeGateway(cluster string, json []byte) (*Gateway, error) {
	g := new(Gateway)
	var routes []attached
	err := decodeObject(&g.Meta, cluster, json, allKeys, func(r *reader, field []byte) {
		switch string(field) {
		case "spec":
			g.Listeners = nil
			for field := range r.fields() {
				if string(field) == "listeners" {
					g.Listeners = r.listeners()
				}
			}
		case "status":
			g.Addresses, g.Programmed, routes = nil, ConditionUnknown, nil
			for field := range r.fields() {
				switch string(field) {
				case "addresses":
					g.Addresses = r.addresses()
				case "conditions":
					g.Programmed = r.condition(string(gatewayv1.GatewayConditionProgrammed))
				case "listeners":
					routes = r.attachedRoutes()
				}
			}
		}
	})
	if err != nil {
		return nil, fmt.Errorf("decode Gateway: %w", err)
	}
	attach(g.Listeners, routes)
	return g, nil
}

// listeners reads spec.listeners. One without a name, or with the name of one
// before it, cannot be referred to: it is left out.
func (r *reader) listeners() []Listener {
	var list []Listener
	for range r.elements() {
		l := Listener{AttachedRoutes: UnknownRoutes}
		for field := range r.fields() {
			switch string(field) {
			case "name":
				l.Name, _ = r.word()
			case "hostname":
				l.Hostname, _ = r.text()
			case "port":
				if n, ok := r.integer(); ok && n > 0 && n <= math.MaxUint16 {
					l.Port = uint16(n)
				}
			case "protocol":
				text, _ := r.raw()
				l.Protocol = listenerProtocol(text)
			}
		}
		if l.Name == "" {
			r.fault("the listener has no name: it is left out")
			continue
		}
		list = append(list, l)
	}
	return r.distinct(list)
}

func listenerProtocol(text []byte) ListenerProtocol {
	switch gatewayv1.ProtocolType(text) {
	case "", gatewayv1.UDPProtocolType:
		return NotTCP
	case gatewayv1.HTTPSProtocolType, gatewayv1.TLSProtocolType:
		return TLS
	}
	return Plain
}

// distinct leaves out the listeners whose names others have before them.
func (r *reader) distinct(list []Listener) []Listener {
	if len(list) < 2 {
		return list
	}
	seen := make(map[string]bool, len(list))
	return slices.DeleteFunc(list, func(l Listener) bool {
		if seen[l.Name] {
			r.fault("two listeners have the name %s: the second is left out", quote(l.Name))
		}
		again := seen[l.Name]
		seen[l.Name] = true
		return again
	})
}

// addresses reads status.addresses. One whose type or value is not a string is
// left out.
func (r *reader) addresses() []Address {
	var list []Address
	for range r.elements() {
		a, ok := Address{Type: IPAddress}, false
		before := r.faults.n
		for field := range r.fields() {
			ok = true
			switch string(field) {
			case "type":
				if text, ok := r.word(); ok && text != "" {
					a.Type = AddressType(text)
				}
			case "value":
				a.Value, _ = r.text()
			}
		}
		if ok && r.faults.n == before {
			list = append(list, a)
		}
	}
	return list
}

// condition reads a list of conditions and returns the status of one of them.
func (r *reader) condition(want string) ConditionStatus {
	found := ConditionUnknown
	for range r.elements() {
		var name bool
		var status ConditionStatus
		for field := range r.fields() {
			switch string(field) {
			case "type":
				text, _ := r.raw()
				name = string(text) == want
			case "status":
				status = parseStatus(r.raw())
			}
		}
		if name {
			found = status
		}
	}
	return found
}

func parseStatus(text []byte, _ bool) ConditionStatus {
	switch string(text) {
	case "True":
		return ConditionTrue
	case "False":
		return ConditionFalse
	}
	return ConditionUnknown
}

// attached is one entry of status.listeners.
type attached struct {
	name   string
	routes int32
}

func (r *reader) attachedRoutes() []attached {
	var list []attached
	for range r.elements() {
		a := attached{routes: UnknownRoutes}
		for field := range r.fields() {
			switch string(field) {
			case "name":
				a.name, _ = r.word()
			case "attachedRoutes":
				if n, ok := r.integer(); ok && n >= 0 {
					a.routes = int32(min(n, math.MaxInt32))
				}
			}
		}
		list = append(list, a)
	}
	return list
}

// attach puts the numbers of the status to the listeners they are for. It is
// linear: a file may hold far more listeners than the API server allows (64).
func attach(listeners []Listener, routes []attached) {
	byName := make(map[string]int32, len(routes))
	for _, a := range routes {
		byName[a.name] = a.routes
	}
	for i := range listeners {
		if n, ok := byName[listeners[i].Name]; ok {
			listeners[i].AttachedRoutes = n
		}
	}
}
