package source

import (
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// password starts every Secret's value in tests; no log line may contain it.
const password = "hunter2"

const headersLabel = `kuadrant.io/probe-headers: "true"`

// secretManifest is a Secret with one header.
func secretManifest(ns, name, labels, value string) string {
	return fmt.Sprintf(`---
apiVersion: v1
kind: Secret
metadata: {namespace: %s, name: %s, labels: {%s}}
stringData: {X-Token: %s}
`, ns, name, labels, password+value)
}

// referringPolicy is a policy whose checks send a Secret's headers.
func referringPolicy(ns, name, secret string) string {
	return fmt.Sprintf(`---
apiVersion: kuadrant.io/v1
kind: DNSPolicy
metadata: {namespace: %s, name: %s}
spec:
  targetRef: {group: gateway.networking.k8s.io, kind: Gateway, name: a}
  healthCheck: {path: /healthz, additionalHeadersRef: {name: %s}}
`, ns, name, secret)
}

// token returns the value of a Secret's header; "" if c does not have the Secret.
func token(c *api.Cluster, name string) string {
	if c == nil {
		return ""
	}
	s, ok := c.Secrets.Get(name)
	if !ok || len(s.Headers) != 1 || s.Headers[0].Name != "X-Token" {
		return ""
	}
	return strings.TrimPrefix(s.Headers[0].Value, password)
}

// token waits for a Secret's value.
func (r *recorder) token(name, value string) {
	r.t.Helper()
	r.wait(fmt.Sprintf("value %q of %s", value, name), func() bool { return token(r.newest(), name) == value })
}

// keepsSecrets checks that no value was logged.
func (r *recorder) keepsSecrets() {
	r.t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, line := range r.lines {
		if strings.Contains(line, password) || strings.Contains(line, base64.StdEncoding.EncodeToString([]byte(password))[:8]) {
			r.t.Errorf("logged %q", line)
		}
	}
	for _, c := range r.clusters {
		if text := fmt.Sprintf("%+v %v", c, c.Secrets); strings.Contains(text, password) {
			r.t.Errorf("printed %q", text)
		}
	}
}

// providerManifest is a Secret that is a DNS provider.
func providerManifest(ns, name, labels, zone string) string {
	return fmt.Sprintf(`---
apiVersion: v1
kind: Secret
type: kuadrant.io/coredns
metadata: {namespace: %s, name: %s, labels: {%s}}
stringData: {ZONES: %s, PASSWORD: %s}
`, ns, name, labels, zone, password)
}

// providedPolicy is a policy that names a DNS provider in its spec.
func providedPolicy(ns, name, version, spec string) string {
	return fmt.Sprintf(`---
apiVersion: kuadrant.io/%s
kind: DNSPolicy
metadata: {namespace: %s, name: %s}
spec: {targetRef: {group: gateway.networking.k8s.io, kind: Gateway, name: a}, %s}
`, version, ns, name, spec)
}

// zonesOf returns a Secret's zones as text.
func zonesOf(c *api.Cluster, name string) string {
	s, ok := c.Secrets.Get(name)
	if !ok {
		return "none"
	}
	return fmt.Sprint(s.Provider.Zones)
}
