package records

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// unfounded returns what verdicts say of objects that is not so: one is told that it is served, and no more, though its name has
// other data; or that it is not, though its data are served. "" for nothing.
func unfounded(w *world, s *Snapshot) string {
	for _, c := range w.clusters {
		for name, rec := range c.Records.All() {
			v := s.Verdict(c.Name, api.Ref{Kind: api.KindRecord, Name: name})
			if v == nil || v.FQDN == "" {
				continue
			}
			z := s.Zone(rdata.Base(v.FQDN))
			if z == nil {
				continue
			}
			var sets []dns.RR
			if n, _ := z.names.Get(v.FQDN); n != nil {
				for _, set := range n.static {
					sets = append(sets, set.rrs...)
				}
			}
			stands := false
			for _, rr := range sets {
				stands = stands || dns.TypeToString[rr.Header().Rrtype] == rec.Type && strings.Trim(dataText(rr), `"`) == strings.Trim(rec.RData, `"`)
			}
			ok := v.Conditions[0].Status == api.ConditionTrue
			asked, hidden := given(s, v.FQDN, rec), v.Conditions[0].Reason == reasonHidden
			switch {
			case asked && hidden:
				return fmt.Sprintf("Record %s is told that nobody gets to it, and is given to who asks", name)
			case !asked && ok && v.Conditions[0].Message == api.MessageServed:
				return fmt.Sprintf("Record %s is told that it is served, and is not given to who asks", name)
			}
			stands = stands && !hidden // it stands, and does not count
			if ok && v.Conditions[0].Message == api.MessageServed && !stands {
				return fmt.Sprintf("Record %s is told that it is served, and is not", name)
			}
			if !ok && v.Conditions[0].Message == "" {
				return fmt.Sprintf("Record %s is not told why", name)
			}
			if !ok && stands && !twin(w, c, name, rec) {
				return fmt.Sprintf("Record %s is told that it is not served, and is: %s", name, v.Conditions[0].Message)
			}
		}
		for name, e := range c.DNSEndpoints.All() {
			v := s.Verdict(c.Name, api.Ref{Kind: api.KindDNSEndpoint, Name: name})
			if v == nil || v.Conditions[0].Message != api.MessageServed {
				continue
			}
			for _, ep := range e.Endpoints {
				z := s.Zone(rdata.Base(ep.DNSName))
				n, _ := z.names.Get(ep.DNSName)
				if n == nil {
					return fmt.Sprintf("DNSEndpoint %s is told that it is served, and its name %s is not", name, ep.DNSName)
				}
				if steeredType(dns.StringToType[ep.Type]) {
					if n.steered.owner == nil {
						return fmt.Sprintf("DNSEndpoint %s is told that it is served, and nobody has its name %s", name, ep.DNSName)
					}
					continue
				}
				if ofType(n.static, dns.StringToType[ep.Type]) == nil {
					return fmt.Sprintf("DNSEndpoint %s is told that it is served, and its %s of %s is not", name, ep.Type, ep.DNSName)
				}
			}
		}
	}
	return ""
}

// given tells whether who asks for the name and type of a Record is given its data, in the answer or with a referral.
func given(s *Snapshot, name string, rec *api.Record) bool {
	a := answerOf(s, name, dns.StringToType[rec.Type])
	return slices.ContainsFunc(slices.Concat(a.Answer, a.Ns, a.Extra), func(rr dns.RR) bool {
		return dns.TypeToString[rr.Header().Rrtype] == rec.Type && strings.EqualFold(rr.Header().Name, name) && strings.Trim(dataText(rr), `"`) == strings.Trim(rec.RData, `"`)
	})
}

// twin tells whether another Record says the same.
func twin(w *world, in *api.Cluster, of string, rec *api.Record) bool {
	for _, c := range w.clusters {
		for name, o := range c.Records.All() {
			if (name != of || c != in) && o.Type == rec.Type && o.RData == rec.RData {
				return true
			}
		}
		for _, e := range c.DNSEndpoints.All() {
			for _, ep := range e.Endpoints {
				if ep.Type == rec.Type && strings.Contains(rec.RData, ep.Targets[0]) {
					return true
				}
			}
		}
		for _, e := range c.DNSRecords.All() {
			for _, ep := range e.Endpoints {
				if ep.Type == rec.Type && strings.Contains(rec.RData, ep.Targets[0]) {
					return true
				}
			}
		}
	}
	return false
}

// TestVerdictsAreFounded: in random worlds of tenants of any age, each verdict says what is so, and whoever loses an answer is told so.
func TestVerdictsAreFounded(t *testing.T) {
	oneGoroutine(t)
	for seed := range seeds(t, 1500) {
		r := rand.New(rand.NewPCG(seed, 99))
		w := newWorld([]string{"c", "c2"}[:1+r.IntN(2)]...)
		g, opt := newRealm(r, w)
		g.zones = true
		if r.IntN(3) == 0 {
			w.setZone(0, "victim/z", &api.Zone{Meta: api.Meta{Created: victimDate}, DomainName: pick(r, []string{"t.example.org.", "h.t.example.org."}), TTL: 60, Minimum: 30, Delegations: []api.Delegation{{Namespaces: []string{"victim"}, Zones: []string{"*"}, Records: []api.RecordDelegation{{Pattern: "*"}, {Pattern: "@"}}}}})
		}
		var s *Snapshot
		for step := range 10 {
			var was map[string]string
			before, toldBefore := "", ""
			if s != nil {
				was, before = g.has(s), w.describeAll(s)
				toldBefore = toldTo(w, s)
			}
			ns := pick(r, []string{"evil", "victim", "eve"})
			g.make(w, r, ns, r.Int64N(4))
			s = Compile(s, w.objects(), opt, testTime)
			if why := unfounded(w, s); why != "" {
				t.Fatalf("seed %d step %d: %s\n%s", seed, step, why, w.describeAll(s))
			}
			if ns == victimNamespace {
				continue
			}
			is, now := g.has(s), toldTo(w, s)
			for what, text := range was {
				if is[what] != text && chainHost("", what[strings.Index(what, " ")+1:]) == "" && now == toldBefore && strings.HasPrefix(what, "A ") {
					t.Fatalf("seed %d step %d: %s was %q and is %q, and the victim is told nothing\n%s---\n%s", seed, step, what, text, is[what], before, w.describeAll(s))
				}
			}
		}
	}
}

// toldTo returns all that is told to the victim's objects.
func toldTo(w *world, s *Snapshot) string {
	var all []string
	for _, c := range w.clusters {
		for _, kind := range []api.Kind{api.KindZone, api.KindRecord, api.KindDNSPolicy, api.KindDNSRecord, api.KindDNSEndpoint} {
			for name := range c.Names(kind, victimNamespace) {
				if v := s.Verdict(c.Name, api.Ref{Kind: kind, Name: name}); v != nil {
					all = append(all, fmt.Sprintf("%s %v %s %+v", c.Name, kind, name, *v))
				}
			}
		}
	}
	return strings.Join(all, "\n")
}
