package pool

import (
	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/health"
	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
)

// HeadersOf returns the namespace/name of the Secret with the additional headers of an object's
// check; "" for none.
func HeadersOf(h *api.HealthCheck, of *api.Meta) string {
	if h == nil || h.HeadersSecret == "" {
		return ""
	}
	return of.Namespace() + "/" + h.HeadersSecret
}

// values returns the headers in a cluster's Secret, or that it is missing.
func (b *Builder) values(cluster, name string) (values []health.Header, missing bool) {
	secret := b.Secret(cluster, name)
	if secret == nil || secret.Unlabelled || secret.Invalid != "" {
		return nil, true
	}
	for _, h := range secret.Headers {
		values = append(values, health.Header{Name: h.Name, Value: h.Value})
	}
	return values, false
}

// noteHeaders adds a note if the headers of a contender's check cannot be sent.
func (b *Builder) noteHeaders(c *endpoint.Contender) {
	name := HeadersOf(c.Check(), c.By)
	if name == "" || b.ProbesOff || !c.Checked() {
		return
	}
	const effect = "; until then its targets are not checked: known ones keep their state, new ones count as up"
	switch secret := b.Secret(c.By.Cluster, name); {
	case secret == nil && b.NoSecrets(c.By.Cluster):
		b.note(c, endpoint.ReasonHeaders, "headers of the health check are in Secret %s, but Secrets are not read: remove `secrets off` from the Corefile, or add Secret to its `kinds`%s",
			name, effect)
	case secret == nil || secret.Unlabelled:
		b.note(c, endpoint.ReasonHeaders, `headers of the health check are in Secret %s, which does not exist, lacks the label %s: "%s", or is not readable%s`,
			name, api.HeadersLabel, api.HeadersOn, effect)
	case secret.Invalid != "":
		b.note(c, endpoint.ReasonHeaders, "Secret %s: %s%s", name, secret.Invalid, effect)
	}
}
