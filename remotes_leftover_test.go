package kuadrant

import (
	"testing"
	"testing/synctest"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/source"
)

// TestHeirInPartLeads: the first of two Secrets for a cluster is deleted, and what came through it stays, as the second may
// not list all of it. Then that one leads to another server. Once this has been listed, nothing that is named leads to the cluster:
// it is withdrawn, with what has stayed of it.
func TestHeirInPartLeads(t *testing.T) {
	world := func(t *testing.T) (*running, *secrets) {
		r, s := followBesideLocal(t, nil)
		s.show([]*source.Remote{secretOf("east", "e")})
		s.feed("east").show(hosts{"b": "192.0.2.2"})
		s.show([]*source.Remote{secretOf("east", "e"), secretOf("east-1", "e")})
		s.feed("east-1").show(hosts{"b": "192.0.2.2"}, api.KindDNSPolicy)
		s.show([]*source.Remote{secretOf("east-1", "e")})
		r.expect("the second lists a part", "b=192.0.2.2")
		r.expectClusters("east", "east-1", "local")
		return r, s
	}
	synctest.Test(t, func(t *testing.T) {
		r, s := world(t)
		s.show([]*source.Remote{secretOf("east-1", "other")})
		r.expect("the other server is not listed", "b=192.0.2.2")
		s.feed("east-1").show(hosts{"n": "192.0.2.3"})
		r.expect("the other server is listed", "b=NXDOMAIN", "n=192.0.2.3")
		r.expectClusters("east-1", "local")
	})
	synctest.Test(t, func(t *testing.T) { // to one that is read already
		r, s := world(t)
		all := []*source.Remote{secretOf("east-1", "w"), secretOf("west", "w")}
		s.show([]*source.Remote{secretOf("east-1", "e"), all[1]})
		s.feed("west").show(hosts{"w": "192.0.2.4"})
		s.show(all)
		r.expect("the other server is not listed", "b=192.0.2.2", "w=192.0.2.4")
		s.feed("east-1").show(hosts{"w": "192.0.2.4"})
		r.expect("the other server is listed", "b=NXDOMAIN", "w=192.0.2.4")
		r.expectClusters("local", "west")
	})
}
