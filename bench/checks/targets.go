package checks

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/coredns-kuadrant/kuadrant/health"
	"github.com/coredns-kuadrant/kuadrant/internal/tree"
)

// Loopback is where targets may be.
var Loopback = netip.MustParsePrefix("127.0.0.0/8")

// Timeout is that of every check, unless the interval is shorter.
const Timeout = 5 * time.Second

// PerNet is how many addresses of one /24 are used: less than there are, and than
// a Gateway may have.
const PerNet = 250

// Address returns the address of target i of those with protocol p, which no
// other has. i is below 256*PerNet.
func Address(p health.Protocol, i int) netip.Addr {
	return netip.AddrFrom4([4]byte{127, 10 + byte(p), byte(i / PerNet), byte(1 + i%PerNet)})
}

// Targets returns n targets of each of the given protocols, on those ports, with
// the key of each.
func Targets(n int, interval time.Duration, ports Ports, protocols ...health.Protocol) tree.Map[*health.Target] {
	edit := tree.Map[*health.Target]{}.Edit()
	for _, p := range protocols {
		for i := range n {
			t := &health.Target{
				Check: health.Check{Address: Address(p, i).String(), Protocol: p, Port: ports[p]},
				Terms: health.Terms{Interval: interval, Timeout: min(Timeout, interval), FailureThreshold: 5, SuccessThreshold: 1},
				Cell:  new(health.Cell),
			}
			switch p {
			case health.HTTP, health.HTTPS:
				t.Path, t.Host, t.Expected = "/healthz", fmt.Sprintf("app-%05d.example.com", i), "200,201"
			case health.GRPC, health.GRPCS:
				t.Path, t.Host = "/", fmt.Sprintf("app-%05d.example.com", i)
			case health.TCP:
			}
			edit.Set(t.Key(), t)
		}
	}
	return edit.Map()
}
