package engine

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/source"
)

// TestGuardAfterOtherPoliciesWereListed: a reload that selects other policies has those that the first
// list lacks go at once. What a later list lacks of them is held back as ever: of a cluster that is read
// anew, as the token in its Secret is another one.
func TestGuardAfterOtherPoliciesWereListed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		second, s := reselectedWorld(t)
		without := func() {
			f := s.feed("east")
			c := f.cluster(manyHosts())
			for k := range c.Listings {
				c.Listings[k] = api.Listed
			}
			c.Share(api.KindDNSPolicy, new(api.Cluster))
			f.send(c)
		}
		without()
		second.expect("none is selected", "a=192.0.2.1", "h1=NXDOMAIN")
		s.feed("east").show(manyHosts())
		second.expect("they are labelled", "a=192.0.2.1", "h1=192.0.2.2")
		renewed := secretOf("east", "e")
		renewed.Config.BearerToken = "new"
		s.show([]*source.Remote{renewed})
		without()
		second.expect("a list anew without policies", "a=192.0.2.1", "h1=192.0.2.2", "no=NXDOMAIN")
		time.Sleep(heldTime + time.Second)
		synctest.Wait()
		second.expect("the time has come", "h1=NXDOMAIN")
	})
}
