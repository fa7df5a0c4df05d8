package kuadrant

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// children writes down what each policy and each DNSRecord should have.
func (s *scenario) children() []byte {
	var out bytes.Buffer
	snap := s.plugin.engine.snap.Load()
	for _, c := range s.plugin.engine.snap.Load().Objects().Clusters {
		var all []api.Child
		for _, kind := range [...]api.Kind{api.KindDNSPolicy, api.KindDNSRecord} {
			for name := range c.Names(kind, "") {
				all = append(all, snap.Children(c.Name, api.Ref{Kind: kind, Name: name})...)
			}
		}
		for _, child := range all {
			fmt.Fprintf(&out, "%s %s %s of %s", c.Name, child.Kind, child.Name, child.Owner.Name)
			if child.Owner.Kind == api.KindDNSRecord {
				out.WriteString(", a DNSRecord")
			}
			if child.Replace {
				out.WriteString(", another one goes")
			}
			out.WriteString("\n")
			if r := child.Record; r != nil {
				fmt.Fprintf(&out, "  rootHost=%s provider=%s/%s zoneID=%s\n", r.RootHost, r.Provider.Kind, r.Provider.Name, r.ZoneID)
				writeEndpoints(&out, r.Endpoints)
			}
			if p := child.Probe; p != nil {
				fmt.Fprintf(&out, "  %s host=%s %s port %d\n", p.Address, p.Host, p.Check.Protocol, p.Check.Port)
			}
		}
	}
	return out.Bytes()
}

func writeEndpoints(out *bytes.Buffer, all []api.WrittenEndpoint) {
	for _, e := range all {
		fmt.Fprintf(out, "  %s. %d %s %s", e.DNSName, e.TTL, e.Type, strings.Join(e.Targets, " "))
		if e.SetID != "" {
			fmt.Fprintf(out, " set %s", e.SetID)
		}
		for _, p := range e.Properties {
			fmt.Fprintf(out, " %s=%s", p.Name, p.Value)
		}
		out.WriteString("\n")
	}
}

// statuses writes down the status of the objects that tell of health.
func (s *scenario) statuses() []byte {
	var out bytes.Buffer
	snap := s.plugin.engine.snap.Load()
	for _, c := range s.plugin.engine.snap.Load().Objects().Clusters {
		for name := range c.DNSRecords.All() {
			v, rows := snap.RecordStatus(c.Name, name)
			if v == nil {
				continue
			}
			fmt.Fprintf(&out, "%s %s %s\n", c.Name, api.KindDNSRecord, name)
			for _, cond := range v.Conditions {
				fmt.Fprintf(&out, "  %s=%s %s: %s\n", cond.Type, cond.Status, cond.Reason, cond.Message)
			}
			writeEndpoints(&out, rows)
		}
		for name := range c.Probes.All() {
			if st, ok := snap.ProbeStatus(c.Name, name, nil); ok {
				fmt.Fprintf(&out, "%s %s %s healthy=%s failures=%d reason=%q status=%d\n", c.Name, api.KindProbe, name, st.Healthy, st.ConsecutiveFailures, st.Reason, st.Status)
			}
		}
	}
	return out.Bytes()
}
