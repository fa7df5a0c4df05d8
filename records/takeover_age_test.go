package records

import (
	"strings"
	"testing"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// TestAgeDecides: where nothing is kept of who came first, age alone decides, whichever
// object came later (rule 5.4). An object that says it is older takes the name, and so
// does one of the same second whose namespace/name is the lesser; the one before is told
// who has it. A kept acquisition will keep the first.
func TestAgeDecides(t *testing.T) {
	s := situations()[4] // no Zone
	if s.name != "no Zone" {
		t.Fatal(s.name)
	}
	read := make(manifests)
	for _, day := range []int{victimDay - 1, victimDay} {
		for _, v := range victims() {
			if v.host != victimHost || strings.HasPrefix(v.name, "Zone") { // only the victim may publish in its Zone
				continue
			}
			for _, m := range steeredMakers() {
				if m.name != "DNSPolicy simple" && m.name != "Record A" && m.name != "DNSRecord A" && m.name != "DNSEndpoint A" {
					continue
				}
				w := newWorld("c1", "c2")
				read.apply(t, w, v.objects...)
				first := Compile(nil, w.objects(), &s.opt, testTime)
				objects := m.make(v.host)
				for i := range objects {
					objects[i].day = day
				}
				read.apply(t, w, objects...)
				after := Compile(first, w.objects(), &s.opt, testTime)
				const want = attackAddress
				if got := addressesIn(told(after, v.host, 1, "10.1.0.1", 1)); got != want {
					t.Errorf("%s of day %d comes to a %s of day %d: answered %q, want %q", m.name, day, v.name, victimDay, got, want)
				}
				last := v.objects[len(v.objects)-1]
				_, line := after.Verdict("c1", api.Ref{Kind: last.kind, Name: last.name}).Problem()
				if !strings.Contains(line, "belongs to "+objects[len(objects)-1].kind.String()+" "+attacker) {
					t.Errorf("%s of day %d comes to a %s: %s %s is told %q", m.name, day, v.name, last.kind, last.name, line)
				}
			}
		}
	}
}
