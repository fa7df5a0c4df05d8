package recordstest

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records"
)

// change changes the stage by lines of World.Apply, which only a stage without a server supports.
func (s *Scenario) change(text string) {
	at, ok := s.Stage.(interface{ Apply(text string) })
	if !ok {
		s.T.Fatal("a section world needs a stage that is a World")
	}
	at.Apply(text)
}

// health returns each policy's check results beside its verdict, and the names that fail open.
func (s *Scenario) health(string) []byte {
	var out bytes.Buffer
	snap := s.Snapshot()
	for _, c := range snap.Objects().Clusters {
		for name := range c.Policies.All() {
			now, static := snap.StatusNow(c.Name, name), snap.Verdict(c.Name, api.Ref{Kind: api.KindDNSPolicy, Name: name})
			for _, cond := range now.Conditions[len(static.Conditions):] {
				fmt.Fprintf(&out, "%s %s %s=%s %s: %s\n", c.Name, name, cond.Type, cond.Status, cond.Reason, cond.Message)
			}
			for _, r := range now.Records {
				for _, cond := range r.Conditions {
					if cond.Type == "Healthy" {
						fmt.Fprintf(&out, "  %s %s=%s %s: %s\n", r.Host, cond.Type, cond.Status, cond.Reason, cond.Message)
					}
				}
			}
		}
	}
	for _, z := range snap.Zones() {
		for n := range snap.Names(z, "", nil) {
			if f := snap.Fails(n.Name); f.Whom != "" {
				fmt.Fprintf(&out, "%s fails for %s: %s\n", n.Name, f.Whom, f.Outcome())
			}
		}
	}
	return out.Bytes()
}

// Probes returns the probes of all clusters.
func Probes(s *records.Snapshot) (all []*api.HealthCheckProbe) {
	for _, c := range s.Objects().Clusters {
		for _, p := range c.Probes.All() {
			all = append(all, p)
		}
	}
	return all
}

// checks returns the targets, and the problem of each probe that has one.
func (s *Scenario) checks(string) []byte {
	var lines []string
	snap := s.Snapshot()
	for _, target := range snap.Checks().All() {
		line := fmt.Sprintf("%s, %s, %s", target.Check.String(), target.Terms.Text(), target.Cell.Load().State())
		for _, h := range target.Values {
			line += ", " + h.Name + ": " + h.Value
		}
		if target.Missing {
			line += ", headers are missing"
		}
		lines = append(lines, line)
	}
	slices.Sort(lines)
	for p, why := range snap.ProbeProblems(Probes(snap)) {
		lines = append(lines, p.Cluster+" "+p.Name+": "+why)
	}
	return []byte(strings.Join(lines, "\n") + "\n")
}

// transfer returns the content of each zone's transfer, without the SOA.
func (s *Scenario) transfer(string) []byte {
	var out bytes.Buffer
	for _, z := range s.Snapshot().Zones() {
		if !s.Snapshot().Lists(z) {
			fmt.Fprintf(&out, "zone %s is not transferred\n", z.Origin())
			continue
		}
		fmt.Fprintf(&out, "zone %s\n", z.Origin())
		for _, line := range slices.Sorted(maps.Keys(content(z))) {
			fmt.Fprintf(&out, "  %s\n", strings.Join(slices.Delete(strings.Fields(line), 2, 3), " "))
		}
	}
	return out.Bytes()
}
