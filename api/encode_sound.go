package api

import (
	"fmt"
	"math"
	"time"
)

// sound fails where an object holds a number that no decoder gives. Whoever uses it counts
// on these bounds.
func sound(object any) error {
	switch o := object.(type) {
	case *Gateway:
		for _, l := range o.Listeners {
			if l.AttachedRoutes < UnknownRoutes {
				return outOfRange("AttachedRoutes", l.AttachedRoutes)
			}
		}
	case *DNSPolicy:
		return o.sound()
	case *HealthCheckProbe:
		return o.Check.sound()
	case *Zone:
		if n := max(o.TTL, o.Refresh, o.Retry, o.Expire, o.Minimum); n > maxTTL {
			return outOfRange("a time of the SOA", n)
		}
	case *Record:
		if o.TTL < NoTTL || o.TTL > maxTTL {
			return outOfRange("TTL", o.TTL)
		}
	case *DNSRecord:
		if o.Provider.Selector != nil {
			return fmt.Errorf("a DNSRecord has no Selector")
		}
		if err := o.HealthCheck.sound(); err != nil {
			return err
		}
		return soundEndpoints(o.Endpoints)
	case *DNSEndpoint:
		return soundEndpoints(o.Endpoints)
	}
	return nil
}

func outOfRange(field string, n any) error {
	return fmt.Errorf("%s is %v, which cannot be", field, n)
}

func (p *DNSPolicy) sound() error {
	if p.DefaultWeight < 0 || p.DefaultWeight > maxWeight {
		return outOfRange("DefaultWeight", p.DefaultWeight)
	}
	for _, c := range p.CustomWeights {
		if c.Weight < 0 || c.Weight > maxWeight {
			return outOfRange("Weight", c.Weight)
		}
	}
	return p.HealthCheck.sound()
}

// sound is that of a check that may be nil, or one of a probe that has none.
func (h *HealthCheck) sound() error {
	if h == nil {
		return nil
	}
	for _, d := range [...]time.Duration{h.Interval, h.Timeout} {
		if d < 0 || d > maxInterval {
			return outOfRange("a time of the check", d)
		}
	}
	for _, n := range [...]int{h.FailureThreshold, h.SuccessThreshold} {
		if n < 0 || n > maxThreshold {
			return outOfRange("a threshold", n)
		}
	}
	return nil
}

func soundEndpoints(all []Endpoint) error {
	for i := range all {
		e := &all[i]
		switch {
		case e.TTL < 0 || e.TTL > maxTTL:
			return outOfRange("TTL", e.TTL)
		case e.Weight < NoWeight || e.Weight > maxWeight:
			return outOfRange("Weight", e.Weight)
		case e.Index < 0 || e.Index > math.MaxInt32 || len(e.Targets) == 0 || e.Type == "":
			return outOfRange("an endpoint", e.DNSName)
		}
	}
	return nil
}
