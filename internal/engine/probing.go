package engine

import (
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/coredns-kuadrant/kuadrant/health"
)

// proberOptions returns a prober's options from the Corefile, with callbacks to the listener.
// apiServers come from rest.Configs: URLs, or hosts with or without a port.
func (e *Engine) proberOptions(cfg *Options, apiServers []string) health.Options {
	guard := health.Guard{Allow: cfg.ProbeAllow, Deny: slices.Clone(cfg.ProbeDeny)}
	for _, server := range apiServers {
		host := hostOf(server)
		if addr, err := netip.ParseAddr(host); err == nil {
			for _, form := range health.Forms(addr) {
				guard.Deny = append(guard.Deny, netip.PrefixFrom(form, form.BitLen()))
			}
		} else if host != "" && !slices.Contains(guard.DenyHosts, host) {
			guard.DenyHosts = append(guard.DenyHosts, host)
		}
	}
	return health.Options{
		Guard: guard.NotHere(),
		Changed: func(t *health.Target, before, after health.Value) {
			e.tell.Found(t, before, after)
			e.failing.changed(t, before.Found())
			e.settings().state.changed()
		},
		Ended: e.tell.Checked,
	}
}

// apiServers returns the API servers that the Corefile's feeds read.
func apiServers(feeds []*feed) (servers []string) {
	for _, f := range feeds {
		if f.same.config != nil {
			servers = append(servers, f.same.config.Host)
		}
	}
	return servers
}

// hostOf returns the host of an API server.
func hostOf(server string) string {
	if _, err := netip.ParseAddr(server); err == nil {
		return server
	}
	if !strings.Contains(server, "://") {
		server = "https://" + server
	}
	u, err := url.Parse(server)
	if err != nil {
		return ""
	}
	return u.Hostname()
}
