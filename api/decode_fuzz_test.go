package api_test

import (
	"fmt"
	"net/netip"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/miekg/dns"
	"golang.org/x/net/http/httpguts"

	"github.com/coredns-kuadrant/kuadrant/api"
)

var validName = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?/[a-z0-9]([a-z0-9.-]*[a-z0-9])?$`)

// FuzzDecode checks that decoding is bounded, gives a key that cannot be forged, gives the same for the same text in
// another layout, and is read back after it was written; and what holds of all objects of the kind. All cases of testdata
// are among its seeds.
func FuzzDecode(f *testing.F) {
	for kind, text := range live(0) {
		f.Add(uint8(kind), text)
	}
	for _, file := range files(f) {
		for _, w := range cases(f, file) {
			f.Add(uint8(w.kind), w.json(f))
		}
	}
	f.Fuzz(func(t *testing.T, kind uint8, text []byte) {
		decode := decoders[kind%uint8(api.NumKinds)]
		first, err := decode(text)
		if err != nil {
			return
		}
		check(t, first, len(text))
		meta := first.Metadata()
		if len(meta.Fault) > 4000 {
			t.Errorf("fault of %d bytes", len(meta.Fault))
		}
		if meta.Name != meta.Namespace()+"/"+meta.BareName() || !validName.MatchString(meta.Name) {
			t.Errorf("key %q", meta.Name)
		}
		laidOut := jsontext.Value(append([]byte(nil), text...))
		if err := laidOut.Indent(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)); err != nil {
			t.Fatalf("decoded, but not JSON: %v", err)
		}
		second, err := decode(laidOut)
		if err != nil || !reflect.DeepEqual(first, second) {
			t.Errorf("once   %+v\nlater %+v, %v", first, second, err)
		}
		api.CheckReread(t, any(first))
	})
}

// check holds what every object fulfils that was decoded from so many bytes.
func check(t *testing.T, o api.Object, size int) {
	t.Helper()
	switch o := o.(type) {
	case *api.Gateway:
		if n := len(o.Listeners) + len(o.Addresses) + len(o.Labels) + len(o.Annotations); n > size {
			t.Errorf("%d things from a text of %d bytes", n, size)
		}
		for _, l := range o.Listeners {
			if l.Name == "" || l.AttachedRoutes < api.UnknownRoutes {
				t.Errorf("listener %+v", l)
			}
		}
	case *api.DNSPolicy:
		checkPolicy(t, o, size)
	case *api.HealthCheckProbe:
		checkProbe(t, o)
	case *api.Zone:
		checkZone(t, o, size)
	case *api.Record:
		checkPlace(t, o.Invalid, o.DomainName, o.Parent)
		if o.Class == "" || o.TTL < api.NoTTL || o.TTL > 1<<31-1 || o.Type == "" && o.Invalid == "" {
			t.Errorf("%+v", o)
		}
	case *api.DNSRecord:
		if o.RootHost == "" && o.Invalid == "" || len(o.Invalid) > 8000 || o.Provider.Selector != nil {
			t.Errorf("%+v", o)
		}
		if o.RootHost != "" {
			checkSpelling(t, o.RootHost)
		}
		if o.HealthCheck != nil {
			checkHealth(t, o.HealthCheck)
		}
		checkEndpoints(t, o.Endpoints, size)
	case *api.DNSEndpoint:
		checkEndpoints(t, o.Endpoints, size)
	case *api.Secret:
		checkSecret(t, o)
	}
}

// checkZone holds what every Zone fulfils that was decoded from so many bytes.
func checkZone(t *testing.T, z *api.Zone, size int) {
	t.Helper()
	checkPlace(t, z.Invalid, z.DomainName, z.Parent)
	if z.DomainName == "@" && z.Invalid == "" || max(z.TTL, z.Refresh, z.Retry, z.Expire, z.Minimum) > 1<<31-1 ||
		z.Kept.Hash != "" && z.Kept.Serial == 0 {
		t.Errorf("%+v", z)
	}
	for _, name := range []string{z.Mname, z.Rname} {
		if name != "" {
			checkSpelling(t, name)
		}
	}
	things := len(z.Delegations)
	for _, d := range z.Delegations {
		things += len(d.Namespaces) + len(d.Zones) + len(d.Records)
		if len(d.Zones)+len(d.Records) == 0 || slices.Contains(d.Namespaces, "") {
			t.Errorf("delegation %+v", d)
		}
		for _, pattern := range d.Zones {
			checkPattern(t, pattern)
		}
		for _, r := range d.Records {
			things += len(r.Types)
			checkPattern(t, r.Pattern)
		}
	}
	if things > size {
		t.Errorf("%d things from a text of %d bytes", things, size)
	}
}

// checkPlace holds what the name of every Zone and Record fulfils.
func checkPlace(t *testing.T, invalid, domainName, parent string) {
	t.Helper()
	if len(invalid) > 4000 || invalid == "" && (domainName == "" || dns.IsFqdn(domainName) == (parent != "")) || parent != "" &&
		!validName.MatchString(parent) {
		t.Errorf("invalid %q, name %q, parent %q", invalid, domainName, parent)
	}
}

// checkSpelling holds that a name is one, with a final dot, and is spelled as it is
// read from a message.
func checkSpelling(t *testing.T, name string) {
	t.Helper()
	var wire [255]byte
	end, err := dns.PackDomainName(name, wire[:], 0, nil, false)
	if err != nil {
		t.Errorf("%q is no name: %v", name, err)
		return
	}
	if again, _, err := dns.UnpackDomainName(wire[:end], 0); err != nil || dns.CanonicalName(again) != name {
		t.Errorf("%q is spelled %q, %v", name, again, err)
	}
}

func checkPattern(t *testing.T, pattern string) {
	t.Helper()
	if pattern == "@" {
		return
	}
	if dns.IsFqdn(pattern) {
		t.Errorf("pattern %q is absolute", pattern)
	}
	checkSpelling(t, pattern+".")
}

// checkEndpoints holds what all endpoints fulfil that were decoded from so many bytes.
func checkEndpoints(t *testing.T, all []api.Endpoint, size int) {
	t.Helper()
	things := len(all)
	for _, e := range all {
		things += len(e.Targets)
		if e.Type == "" || len(e.Targets) == 0 || len(e.Targets) > 1000 || slices.Contains(e.Targets, "") || e.TTL < 0 || e.TTL > 1<<31-1 ||
			e.Weight < api.NoWeight || e.Weight > 1<<31-1 || e.Geo != strings.ToUpper(e.Geo) || len(e.Geo) > 63 {
			t.Errorf("endpoint %+v", e)
		}
		checkSpelling(t, e.DNSName)
	}
	if len(all) > 1000 || things > size {
		t.Errorf("%d endpoints, %d things from a text of %d bytes", len(all), things, size)
	}
}

// checkProbe holds what every probe fulfils, whatever it was decoded from.
func checkProbe(t *testing.T, p *api.HealthCheckProbe) {
	t.Helper()
	if p.Address == "" && p.Invalid == "" || p.Host != p.Check.Host || len(p.Invalid) > 4000 || p.Healthy > api.ConditionFalse {
		t.Errorf("%+v", p)
	}
	if a, err := netip.ParseAddr(p.Address); err == nil && (a.String() != p.Address || a.Is4In6() || a.Zone() != "") {
		t.Errorf("address %q", p.Address)
	} else if err != nil && (p.Address != strings.ToLower(p.Address) || len(p.Address) > 253 || strings.ContainsAny(p.Address, "*:/ ")) {
		t.Errorf("address %q", p.Address)
	}
	checkHealth(t, &p.Check)
}

// checkPolicy holds what every policy fulfils, whatever it was decoded from.
func checkPolicy(t *testing.T, p *api.DNSPolicy, size int) {
	t.Helper()
	if p.DefaultWeight < 0 || len(p.CustomWeights) > size || len(p.Exclude) > 20 || len(p.Invalid) > 4000 {
		t.Errorf("%+v", p)
	}
	for _, c := range p.CustomWeights {
		if c.Weight < 0 || (c.Selector == nil) == (c.Value == "") {
			t.Errorf("custom weight %+v", c)
		}
	}
	for _, x := range p.Exclude {
		if x.Prefix.IsValid() == (x.Hostname != "") || x.Prefix != x.Prefix.Masked() || x.Prefix.Addr().Is4In6() {
			t.Errorf("exclusion %+v", x)
		}
	}
	if p.HealthCheck != nil {
		checkHealth(t, p.HealthCheck)
	}
}

func checkHealth(t *testing.T, h *api.HealthCheck) {
	t.Helper()
	if h.Interval <= 0 || h.Timeout <= 0 || h.Timeout > h.Interval || h.Port == 0 ||
		h.FailureThreshold < 1 || h.SuccessThreshold < 1 || len(h.Expected) == 0 || len(h.Expected) > 500 {
		t.Errorf("health check %+v", h)
	}
}

// checkSecret holds what every Secret fulfils, whatever it was decoded
// from.
func checkSecret(t *testing.T, s *api.Secret) {
	t.Helper()
	if s.Invalid != "" && len(s.Headers) > 0 || len(s.Invalid) > 4000 || len(s.Headers) > 64 || s.Unlabelled && s.Headers != nil || s.Annotations != nil {
		t.Errorf("%v", s)
	}
	// The cases have this word where a value may be secret.
	if strings.Contains(fmt.Sprint(s)+s.Invalid+s.Provider.Invalid, "hunter2") {
		t.Errorf("a value is printed: %v, %q", s, s.Provider.Invalid)
	}
	size := 0
	for i, h := range s.Headers {
		size += len(h.Name) + len(h.Value)
		if !httpguts.ValidHeaderFieldName(h.Name) || !httpguts.ValidHeaderFieldValue(h.Value) || strings.EqualFold(h.Name, "host") {
			t.Errorf("header %q: %q", h.Name, h.Value)
		}
		if slices.ContainsFunc(s.Headers[:i], func(o api.Header) bool { return strings.ToLower(o.Name) >= strings.ToLower(h.Name) }) {
			t.Errorf("header %q stands twice, or behind one that it belongs in front of", h.Name)
		}
	}
	if size > 8<<10 {
		t.Errorf("%d bytes", size)
	}
}
