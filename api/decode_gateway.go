package api

import (
	"fmt"
	"math"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// DecodeGateway reads a Gateway (gateway.networking.k8s.io/v1, or v1beta1, which has the same form)
// of the given cluster from JSON, and keeps the fields in use. It returns an error if the text is
// not JSON or names no object; it leaves out other unreadable parts, and names them in the
// Gateway's Fault. The Gateway does not refer to json.
func DecodeGateway(cluster string, json []byte) (*Gateway, error) {
	g := new(Gateway)
	var routes map[string]int32 // by listener
	_, err := decodeObject(&g.Meta, cluster, json, allKeys, func(r *reader, field []byte) {
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
					g.Programmed = ConditionUnknown
					if c := r.condition(string(gatewayv1.GatewayConditionProgrammed)); c != nil {
						g.Programmed = c.Status
					}
				case "listeners":
					routes = r.attachedRoutes()
				}
			}
		}
	})
	if err != nil {
		return nil, fmt.Errorf("decode Gateway: %w", err)
	}
	for i := range g.Listeners {
		if n, ok := routes[g.Listeners[i].Name]; ok {
			g.Listeners[i].AttachedRoutes = n
		}
	}
	return g, nil
}

// listeners reads spec.listeners. It leaves out a listener that nothing can refer to: one without a
// name, or with the name of an earlier one.
func (r *reader) listeners() []Listener {
	var list []Listener
	seen := make(map[string]bool)
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
		switch {
		case l.Name == "":
			r.fault("the listener has no name; ignoring it")
		case seen[l.Name]:
			r.fault("an earlier listener has the name %s; ignoring this one", quote(l.Name))
		default:
			seen[l.Name] = true
			list = append(list, l)
		}
	}
	return list
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

// addresses reads status.addresses. It leaves out one whose type or value is not a string.
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

// condition reads a list of conditions and returns the last of a type; nil for none.
func (r *reader) condition(want string) (found *Condition) {
	for range r.elements() {
		var c Condition
		for field := range r.fields() {
			switch string(field) {
			case "type":
				c.Type, _ = r.word()
			case "status":
				c.Status = parseStatus(r.raw())
			case "reason":
				c.Reason, _ = r.word()
			case "message":
				c.Message, _ = r.text()
			}
		}
		if c.Type == want {
			found = &Condition{c.Type, c.Status, c.Reason, c.Message}
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

// attachedRoutes reads status.listeners.
func (r *reader) attachedRoutes() map[string]int32 {
	routes := make(map[string]int32)
	for range r.elements() {
		name, n := "", UnknownRoutes
		for field := range r.fields() {
			switch string(field) {
			case "name":
				name, _ = r.word()
			case "attachedRoutes":
				if routes, ok := r.integer(); ok && routes >= 0 {
					n = int32(min(routes, math.MaxInt32))
				}
			}
		}
		routes[name] = n
	}
	return routes
}
