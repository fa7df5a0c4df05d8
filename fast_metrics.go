package kuadrant

import (
	"strconv"
	"time"

	"github.com/coredns/coredns/plugin/metrics/vars"
	"github.com/coredns/coredns/plugin/pkg/rcode"
	"github.com/miekg/dns"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/coredns-kuadrant/kuadrant/internal/fastpath"
)

// fastKey is what the labels of the plugin prometheus depend on.
type fastKey struct {
	block        *fastBlock
	qtype, rcode uint16
	family       uint32 // as in the label
}

// fastCounters are the metrics of the plugin prometheus for a fastKey, looked up once.
type fastCounters struct {
	requests, dnssec, rcodes    prometheus.Counter
	duration, request, response prometheus.Observer
}

// report counts a query as the plugin prometheus does: vars.Report. size is the length of the reply as that plugin sees it.
func (f *fastAnswerer) report(k *fastBlock, q *fastpath.Query, l *lookup, size int, start time.Time) {
	key := fastKey{k, l.question.Qtype, uint16(l.answer.Rcode), 1}
	if key.qtype > dns.TypeANY {
		key.qtype = 0 // so that there are few
	}
	if f.to.addr.IP.To4() == nil {
		key.family = 2
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
	zone, family, qtype := k.block.measured, strconv.Itoa(int(k.family)), "other"
	if countedTypes[k.qtype] {
		qtype = dns.Type(k.qtype).String()
	}
	return &fastCounters{
		requests: vars.RequestCount.WithLabelValues(f.server, zone, "", "udp", family, qtype),
		dnssec:   vars.RequestDo.WithLabelValues(f.server, zone, ""),
		rcodes:   vars.ResponseRcode.WithLabelValues(f.server, zone, "", rcode.ToString(int(k.rcode)), k.block.metrics.Next.Name()),
		duration: vars.RequestDuration.WithLabelValues(f.server, zone, ""),
		request:  vars.RequestSize.WithLabelValues(f.server, zone, "", "udp"),
		response: vars.ResponseSize.WithLabelValues(f.server, zone, "", "udp"),
	}
}

// countedTypes are the types that the plugin prometheus counts by their names.
var countedTypes = map[uint16]bool{
	dns.TypeA: true, dns.TypeAAAA: true, dns.TypeANY: true, dns.TypeAXFR: true, dns.TypeCNAME: true, dns.TypeDNSKEY: true, dns.TypeDS: true,
	dns.TypeHTTPS: true, dns.TypeIXFR: true, dns.TypeMX: true, dns.TypeNS: true, dns.TypeNSEC: true, dns.TypeNSEC3: true, dns.TypePTR: true,
	dns.TypeRRSIG: true, dns.TypeSOA: true, dns.TypeSRV: true, dns.TypeSVCB: true, dns.TypeTXT: true,
}
