package deploy

import (
	"fmt"
	"slices"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"

	"github.com/coredns-kuadrant/kuadrant/health"
)

// checks are the ports open for health checks, and for API servers if checks are on, except at
// addresses that are never checked.
var checks = []string{"TCP 80 but for some", "TCP 443 but for some", "TCP 1024-49151 but for some"}

// TestLetsOut: the pods reach the destinations in the values, and nothing else.
func TestLetsOut(t *testing.T) {
	for i, c := range []struct {
		values string
		set    string
		want   []string
	}{
		{"public", "", checks},
		{"public", "networkPolicy.egressPorts={443,843,8443,50000}", append([]string{"TCP 843 but for some", "TCP 50000 but for some"}, checks...)},
		// The pods still need the API server, and its port is unknown.
		{"public", "probes.enabled=false", checks},
		{"public", "clusterDNS.forward.to={tls://192.0.2.1}", checks},
		{"cluster-dns", "", []string{"TCP 443", "TCP 6443"}},
		{"cluster-dns", "probes.enabled=true", checks},
		{"cluster-dns", "networkPolicy.egressPorts={6443,8443}", []string{"TCP 6443", "TCP 8443"}},
		{"cluster-dns", "clusterDNS.forward.to={tls://192.0.2.1}", []string{"TCP 443", "TCP 6443", "TCP 853"}},
		{"cluster-dns", "clusterDNS.forward.to={tls://192.0.2.1%dns.example.net,tls://192.0.2.1%dns.example.net:8854,tls://[2001:db8::1%dns.example.net]:8853}", []string{"TCP 443", "TCP 6443", "TCP 853", "TCP 8853", "TCP 8854"}},
		{"cluster-dns", "networkPolicy.egressPorts={853},clusterDNS.forward.to={tls://192.0.2.1}", []string{"TCP 853"}},
		{"cluster-dns", "clusterDNS.forward.to={192.0.2.1:5353,dns://[2001:db8::1]:5354}", []string{"TCP 443", "TCP 6443", "TCP 5353", "UDP 5353", "TCP 5354", "UDP 5354"}},
		{"cluster-dns", "clusterDNS.forward.to={192.0.2.1,192.0.2.1:53,2001:db8::853,dns://2001:db8::1,/etc/resolv.conf}", []string{"TCP 443", "TCP 6443"}},
		{"cluster-dns", "clusterDNS.forward.to={https://192.0.2.1,quic://192.0.2.1}", []string{"TCP 443", "TCP 6443", "UDP 853"}},
		{"cluster-dns-probes", "", append([]string{"TCP 853", "TCP 8853", "TCP 843 but for some"}, checks...)},
	} {
		var args []string
		if c.set != "" {
			args = []string{"--set", c.set}
		}
		helm := helms[i%len(helms)]
		var network networkingv1.NetworkPolicy
		renderFile(t, helm, c.values, args...).only(t, "NetworkPolicy", "", &network)
		want := append([]string{"TCP 53", "UDP 53"}, c.want...)
		got := out(network.Spec.Egress)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s: %s with %q lets out %q, want %q", helm, c.values, c.set, got, want)
		}
	}
}

// out returns the ports that rules open for egress, sorted, and their destinations: everywhere, or
// everywhere except the addresses that are never checked.
func out(rules []networkingv1.NetworkPolicyEgressRule) (ports []string) {
	var denied []string
	for _, p := range health.DefaultDeny {
		denied = append(denied, p.String())
	}
	slices.Sort(denied)
	for _, rule := range rules {
		var closed []string
		for _, to := range rule.To {
			if to.IPBlock != nil {
				closed = append(closed, to.IPBlock.Except...)
			}
		}
		slices.Sort(closed)
		but := ""
		if slices.Equal(closed, denied) {
			but = " but for some"
		} else if len(closed) > 0 {
			but = fmt.Sprintf(" but for %q", closed)
		}
		for _, p := range rule.Ports {
			end := ""
			if p.EndPort != nil {
				end = fmt.Sprint("-", *p.EndPort)
			}
			ports = append(ports, fmt.Sprint(*p.Protocol, " ", p.Port.IntValue(), end, but))
		}
	}
	slices.Sort(ports)
	return ports
}
