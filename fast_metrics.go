package kuadrant

import (
	"time"

	"github.com/coredns/coredns/plugin/metrics/vars"
	"github.com/coredns/coredns/plugin/pkg/rcode"
	"github.com/miekg/dns"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/coredns-kuadrant/kuadrant/internal/fastpath"
)

// fastKey is what the labels of the plugin prometheus depend on.
type fastKey struct {
	zone  string
	by    string
	qtype uint16
	rcode int
	six   bool
}

// fastCounters are the metrics of the plugin prometheus for a fastKey, looked up once.
type fastCounters struct {
	requests, dnssec, rcodes    prometheus.Counter
	duration, request, response prometheus.Observer
}

// report counts a query as the plugin prometheus does: vars.Report. size is the length of the reply without its OPT record.
func (f *fastAnswerer) report(k *fastBlock, q *fastpath.Query, l *lookup, size int, start time.Time) {
	zone, ok := closest(k.measured, l.qname)
	if !ok {
		zone = "."
	}
	key := fastKey{zone, k.by, l.question.Qtype, l.answer.Rcode, f.to.addr.IP.To4() == nil}
	if !countedTypes[key.qtype] {
		key.qtype = 0
	}
	c := f.counts[key]
	if c == nil {
		c = f.countersOf(key)
		f.counts[key] = c
	}
	if opt := q.Msg.IsEdns0(); opt != nil && opt.Do() {
		c.dnssec.Inc()
	}
	c.requests.Inc()
	c.duration.Observe(time.Since(start).Seconds())
	c.response.Observe(float64(size))
	c.request.Observe(float64(q.Size))
	c.rcodes.Inc()
}

func (f *fastAnswerer) countersOf(k fastKey) *fastCounters {
	family, qtype := "1", "other"
	if k.six {
		family = "2"
	}
	if countedTypes[k.qtype] {
		qtype = dns.Type(k.qtype).String()
	}
	return &fastCounters{
		requests: vars.RequestCount.WithLabelValues(f.server, k.zone, "", "udp", family, qtype),
		dnssec:   vars.RequestDo.WithLabelValues(f.server, k.zone, ""),
		rcodes:   vars.ResponseRcode.WithLabelValues(f.server, k.zone, "", rcode.ToString(k.rcode), k.by),
		duration: vars.RequestDuration.WithLabelValues(f.server, k.zone, ""),
		request:  vars.RequestSize.WithLabelValues(f.server, k.zone, "", "udp"),
		response: vars.ResponseSize.WithLabelValues(f.server, k.zone, "", "udp"),
	}
}

// countedTypes are the types that the plugin prometheus counts by their names.
var countedTypes = map[uint16]bool{
	dns.TypeA: true, dns.TypeAAAA: true, dns.TypeANY: true, dns.TypeAXFR: true, dns.TypeCNAME: true, dns.TypeDNSKEY: true, dns.TypeDS: true,
	dns.TypeHTTPS: true, dns.TypeIXFR: true, dns.TypeMX: true, dns.TypeNS: true, dns.TypeNSEC: true, dns.TypeNSEC3: true, dns.TypePTR: true,
	dns.TypeRRSIG: true, dns.TypeSOA: true, dns.TypeSRV: true, dns.TypeSVCB: true, dns.TypeTXT: true,
}
