package records

import (
	"strings"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/health"
	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
)

// headersOf returns the namespace/name of the Secret with the additional headers of
// a check that an object has; "" for none.
func headersOf(h *api.HealthCheck, of *api.Meta) string {
	if h == nil || h.HeadersSecret == "" {
		return ""
	}
	return of.Namespace() + "/" + h.HeadersSecret
}

// values returns the headers in a Secret of a cluster, or that they are missing.
func (b *builder) values(cluster, name string) (values []health.Header, missing bool) {
	secret := b.secret(cluster, name)
	if secret == nil || secret.Unlabelled || secret.Invalid != "" {
		return nil, true
	}
	for _, h := range secret.Headers {
		values = append(values, health.Header{Name: h.Name, Value: h.Value})
	}
	return values, false
}

// noteHeaders reports that the headers of a claim's check cannot be sent.
func (b *builder) noteHeaders(c *endpoint.Claim) {
	name := headersOf(c.Policy.HealthCheck, &c.Policy.Meta)
	if name == "" || b.probesOff || !c.Checked() {
		return
	}
	const effect = "; until then its targets are not checked: what is known of them stays, and new ones count as up"
	switch secret := b.secret(c.Policy.Cluster, name); {
	case secret == nil && b.noSecrets(c.Policy.Cluster):
		b.note(c, endpoint.ReasonHeaders, "the health check takes headers from Secret %s, but no Secrets are read here: take `secrets off` out of the Corefile, or name Secret in its `kinds`%s",
			name, effect)
	case secret == nil || secret.Unlabelled:
		b.note(c, endpoint.ReasonHeaders, `Secret %s, which the health check takes headers from, is not there, lacks the label %s: "%s", or may not be read here%s`,
			name, api.HeadersLabel, api.HeadersOn, effect)
	case secret.Invalid != "":
		b.note(c, endpoint.ReasonHeaders, "Secret %s: %s%s", name, secret.Invalid, effect)
	}
}

// secrets marks what depends on Secrets that changed, with one look at each namespace.
func (c *compiler) secrets() {
	if c.prev == nil {
		return
	}
	for i, e := range c.clusters {
		changed := make(map[string]map[string]bool) // Secrets by namespace with its slash
		for _, ref := range e.in.Changed {
			if ref.Kind != api.KindSecret {
				continue
			}
			namespace, _, _ := strings.Cut(ref.Name, "/")
			namespace += "/"
			if changed[namespace] == nil {
				changed[namespace] = make(map[string]bool)
			}
			changed[namespace][ref.Name] = true
		}
		for namespace, secrets := range changed {
			c.secretsChanged(c.prev.clusters[i], e, namespace, secrets)
		}
	}
}

// secretsChanged marks what has headers sent from one of the Secrets of a namespace.
// Probes that are new have been put into the index before.
func (c *compiler) secretsChanged(before *clusterState, e *clusterEdit, namespace string, secrets map[string]bool) {
	for _, p := range e.in.Policies.Beginning(namespace) {
		if secret := headersOf(p.HealthCheck, &p.Meta); secret == "" || !secrets[secret] {
			continue
		}
		if t, ok := before.targets.Get(p.TargetName()); ok {
			c.mark(t)
		}
	}
	for name, r := range e.in.DNSRecords.Beginning(namespace) {
		if secret := headersOf(r.HealthCheck, &r.Meta); secret == "" || !secrets[secret] {
			continue
		}
		if t, ok := before.targets.Get(endpoint.PublisherKey(api.KindDNSRecord, name)); ok {
			c.mark(t)
		}
	}
	for _, p := range e.in.Probes.Beginning(namespace) {
		if secret := headersOf(&p.Check, &p.Meta); secret == "" || !secrets[secret] || !usableProbe(p, c.next.opt) {
			continue
		}
		c.endAlone(p)
		c.beginAlone(p)
		e.concerns(&c.builder, p)
	}
}
