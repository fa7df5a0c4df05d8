package engine

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records"
)

// TestZonesThatNobodyServes: one line names what stands in for the name servers of zones,
// when everything is listed that could say who they are (rule 6.8).
func TestZonesThatNobodyServes(t *testing.T) {
	c := &api.Cluster{Name: "c", UID: "c"}
	for k := range c.Listings {
		c.Listings[k] = api.Listed
	}
	zones := c.Zones.Edit()
	zones.Set("ns/z", &api.Zone{Meta: api.Meta{Name: "ns/z", Cluster: "c"}, DomainName: "object.example.", TTL: 360, Minimum: 60})
	c.Zones = zones.Map()
	opt := &records.Options{}
	for _, origin := range []string{"a.example.", "object.example.", "bare.example.", "named.example."} {
		opt.Zones = append(opt.Zones, records.ZoneOptions{Origin: origin, TTL: 60, LoadBalancedTTL: 300})
	}
	opt.Zones[3].Nameservers = []records.Nameserver{{Name: "ns.elsewhere.example."}}
	for i := range maxLoggedVerdicts {
		opt.Zones = append(opt.Zones, records.ZoneOptions{Origin: fmt.Sprintf("z%d.example.", i), TTL: 60, LoadBalancedTTL: 300})
	}
	var logged []string
	infof := func(format string, args ...any) { logged = append(logged, fmt.Sprintf(format, args...)) }
	var before *records.Snapshot
	for _, step := range []struct {
		listed api.Listing
		lines  int
	}{{api.NotListed, 0}, {api.Listed, 1}, {api.Listed, 0}} {
		c.Listings[api.KindRecord] = step.listed
		logged = nil
		now := *c
		snap := records.Compile(before, api.Objects{Clusters: []*api.Cluster{&now}}, opt, time.Now())
		logStandIns(infof, opt.Zones, before, snap)
		before = snap
		if len(logged) != step.lines {
			t.Fatalf("%v: logged %q", step, logged)
		}
		if step.lines == 1 && (!strings.Contains(logged[0], " ns.a.example. ns.bare.example. ns.z0.example.") || !strings.Contains(logged[0], " and 2 more: ") ||
			strings.Contains(logged[0], "object") || strings.Contains(logged[0], "named")) {
			t.Errorf("logged %q", logged)
		}
	}
}
