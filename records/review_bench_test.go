package records

import (
	"fmt"
	"testing"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// reviewCost compiles w and then the change that next makes, again and again.
func reviewCost(b *testing.B, w *world, opt *Options, next func(i int)) {
	b.Helper()
	s := Compile(nil, w.objects(), opt, testTime)
	for i := 0; b.Loop(); i++ {
		next(i)
		s = Compile(s, w.objects(), opt, testTime)
	}
}

// BenchmarkReviewManyAtName changes one of n Records of one name.
func BenchmarkReviewManyAtName(b *testing.B) {
	for _, n := range []int{10, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			w := newWorld("c")
			put := func(i, v int) {
				w.record(fmt.Sprintf("a/r%d", i), "x.example.org.", "A", fmt.Sprintf("10.%d.%d.%d", v%200, i>>8, i&255), int64(i))
			}
			for i := range n {
				put(i, 0)
			}
			reviewCost(b, w, &reviewOptions, func(i int) { put(n-1, i+1) })
		})
	}
}

// BenchmarkReviewManyBelowKlb changes one of n Records below the klb name of a policy's
// host.
func BenchmarkReviewManyBelowKlb(b *testing.B) {
	for _, n := range []int{10, 1000, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			w := newWorld("c")
			put := func(i, v int) {
				w.record(fmt.Sprintf("a/r%d", i), fmt.Sprintf("h%d.klb.app.example.org.", i), "TXT", fmt.Sprintf("%q", fmt.Sprint(v)), 9)
			}
			for i := range n {
				put(i, 0)
			}
			w.gateway("a/g", "app.example.org", api.Simple, 1, api.IPAddress, "192.0.2.1")
			reviewCost(b, w, &reviewOptions, func(i int) { put(n-1, i+1) })
		})
	}
}

// BenchmarkReviewOccludedPool changes one of m claims that share a host below whose klb
// name there are n Records, where somebody has an NS record anywhere.
func BenchmarkReviewOccludedPool(b *testing.B) {
	for _, ns := range []bool{false, true} {
		b.Run(fmt.Sprintf("400x10000/ns=%v", ns), func(b *testing.B) {
			w := newWorld("c")
			for i := range 10_000 {
				w.record(fmt.Sprintf("a/r%d", i), fmt.Sprintf("h%d.klb.app.example.org.", i), "TXT", `"x"`, 9)
			}
			if ns {
				w.record("b/ns", "far.example.org.", "NS", "ns.example.net.", 1)
			}
			for i := range 400 {
				w.gateway(fmt.Sprintf("a/g%d", i), "app.example.org", api.WeightedGeo, 1, api.IPAddress, fmt.Sprintf("10.0.%d.%d", i>>8, i&255))
			}
			reviewCost(b, w, &reviewOptions, func(i int) {
				w.gateway("a/g0", "app.example.org", api.WeightedGeo, 1, api.IPAddress, fmt.Sprintf("10.1.%d.%d", i>>8&255, i&255))
			})
		})
	}
}

// BenchmarkReviewClaimBelowCut changes a claim below an NS record that loses against an
// older one, in a world of n other claims.
func BenchmarkReviewClaimBelowCut(b *testing.B) {
	for _, cut := range []bool{false, true} {
		for _, n := range []int{1000, 50_000} {
			b.Run(fmt.Sprintf("cut=%v/%d", cut, n), func(b *testing.B) {
				w := newWorld("c")
				for i := range n {
					w.gateway(fmt.Sprintf("o/g%d", i), fmt.Sprintf("h%d.example.org", i), api.Simple, 1, api.IPAddress, "192.0.2.1")
				}
				if cut {
					w.record("b/ns", "t.example.org.", "NS", "ns.example.net.", 1)
				}
				reviewCost(b, w, &reviewOptions, func(i int) {
					w.gateway("b/g", "a.t.example.org", api.Simple, 2, api.IPAddress, fmt.Sprintf("10.1.%d.%d", i>>8&255, i&255))
				})
			})
		}
	}
}

// BenchmarkReviewManyAddresses compiles one DNSEndpoint whose endpoints at one name have
// n addresses, and asks for them.
func BenchmarkReviewManyAddresses(b *testing.B) {
	for _, n := range []int{1000, 10_000, 30_000} {
		w := newWorld("c")
		var all []api.Endpoint
		for i := range n / 1000 {
			var targets []string
			for j := range 1000 {
				targets = append(targets, fmt.Sprintf("10.%d.%d.%d", i, j>>8, j&255))
			}
			all = append(all, apiEndpoint("x.example.org.", "A", targets...))
		}
		w.endpoints("b/e", 1, all...)
		in := w.objects()
		var s *Snapshot
		b.Run(fmt.Sprintf("compile/%d", n), func(b *testing.B) {
			for b.Loop() {
				s = Compile(nil, in, &reviewOptions, testTime)
			}
		})
		a := answerOf(s, "x.example.org.", dns.TypeA)
		b.Logf("the answer has %d records", len(a.Answer))
		b.Run(fmt.Sprintf("truncate/%d", n), func(b *testing.B) {
			for b.Loop() {
				m := new(dns.Msg)
				m.SetQuestion("x.example.org.", dns.TypeA)
				m.Answer = a.Answer
				m.Truncate(1232)
			}
		})
	}
}

// BenchmarkReviewDelegations changes one Record of a Zone with n patterns, and the Zone
// that has 1,000 Records.
func BenchmarkReviewDelegations(b *testing.B) {
	for _, n := range []int{10, 10_000, 80_000} {
		w := newWorld("c")
		d := api.Delegation{}
		for i := range n {
			d.Records = append(d.Records, api.RecordDelegation{Pattern: fmt.Sprintf("a%d", i)})
		}
		d.Records = append(d.Records, api.RecordDelegation{Pattern: "*"})
		w.zone("dns/z", "example.org.", 0, d)
		for i := range 1000 {
			w.record(fmt.Sprintf("a/r%d", i), fmt.Sprintf("h%d.example.org.", i), "A", "192.0.2.1", 1)
		}
		b.Run(fmt.Sprintf("record/%d", n), func(b *testing.B) {
			reviewCost(b, w, &reviewOptions, func(i int) {
				w.record("a/r0", "h0.example.org.", "A", fmt.Sprintf("10.1.%d.%d", i>>8&255, i&255), 1)
			})
		})
		b.Run(fmt.Sprintf("zone/%d", n), func(b *testing.B) {
			reviewCost(b, w, &reviewOptions, func(i int) {
				w.setZone(0, "dns/z", &api.Zone{DomainName: "example.org.", TTL: uint32(i), Delegations: []api.Delegation{d}})
			})
		})
	}
}

// BenchmarkReviewRezone changes an empty Zone of a tenant where there are n Records and m
// Zones of others.
func BenchmarkReviewRezone(b *testing.B) {
	for _, size := range [][2]int{{10, 10}, {300_000, 10}, {10, 10_000}} {
		b.Run(fmt.Sprintf("records=%d/zones=%d", size[0], size[1]), func(b *testing.B) {
			w := newWorld("c")
			w.zone("dns/z", "example.org.", 0, everything[0])
			for i := range size[0] {
				w.record(fmt.Sprintf("a/r%d", i), fmt.Sprintf("h%d.example.org.", i), "A", "192.0.2.1", 1)
			}
			for i := range size[1] {
				w.zone(fmt.Sprintf("a/z%d", i), fmt.Sprintf("z%d.example.org.", i), 1)
			}
			reviewCost(b, w, &reviewOptions, func(i int) {
				w.setZone(0, "b/own", &api.Zone{DomainName: "own.example.org.", TTL: uint32(i)})
			})
		})
	}
}

// BenchmarkReviewDenied takes over from a snapshot with n zones, and denies a name.
func BenchmarkReviewDenied(b *testing.B) {
	for _, n := range []int{10, 1000, 10_000} {
		w := newWorld("c")
		w.zone("dns/z", "example.org.", 0, everything[0])
		for i := range n {
			w.zone(fmt.Sprintf("a/z%d", i), fmt.Sprintf("z%d.example.org.", i), 1)
		}
		s := Compile(nil, w.objects(), &reviewOptions, testTime)
		opt := reviewOptions
		opt.Denied = s.Denied()
		w.clusters[0].Listings[api.KindDNSEndpoint] = 0
		w.zone("dns/z", "example.org.", 0, everything[0])
		s = Compile(s, w.objects(), &opt, testTime)
		b.Run(fmt.Sprintf("takeover/%d", n), func(b *testing.B) {
			for b.Loop() {
				s.Denied()
			}
		})
		name := fmt.Sprintf("x.z%d.example.org.", n-1)
		b.Run(fmt.Sprintf("query/%d", n), func(b *testing.B) {
			for b.Loop() {
				answerOf(s, name, dns.TypeA)
			}
		})
	}
}

// BenchmarkReviewManyAtNameWhole compiles n Records of one name from nothing.
func BenchmarkReviewManyAtNameWhole(b *testing.B) {
	for _, n := range []int{1000, 2000, 4000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			w := newWorld("c")
			for i := range n {
				w.record(fmt.Sprintf("a/r%d", i), "x.example.org.", "A", fmt.Sprintf("10.0.%d.%d", i>>8, i&255), int64(i))
			}
			in := w.objects()
			for b.Loop() {
				Compile(nil, in, &reviewOptions, testTime)
			}
		})
	}
}
