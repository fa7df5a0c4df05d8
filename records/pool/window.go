package pool

import (
	"math/bits"
	"slices"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// window returns rrs with as many addresses, behind their first skip records, as an attribute allows (rule 9.4): those of a
// window of their rotation, which at stands for.
func window(rrs []dns.RR, skip int, host *api.Attributes, at uint64) []dns.RR {
	most, all := int(host.Of(api.MaxAnswers)), rrs[skip:]
	if most == 0 || len(all) <= most {
		return rrs
	}
	hi, _ := bits.Mul64(Next(at), uint64(len(all)))
	from := int(hi)
	if skip == 0 && from+most <= len(all) {
		return all[from : from+most : from+most]
	}
	some := append(make([]dns.RR, 0, skip+most), rrs[:skip]...)
	some = append(some, all[from:min(from+most, len(all))]...)
	return slices.Clip(append(some, all[:skip+most-len(some)]...))
}

// Closed reports whether nothing is answered where the best is of a class (rule 9.3).
func Closed(host *api.Attributes, class Class) bool {
	return class >= WeightedDown && host.Of(api.Fail) == api.FailClosed
}
