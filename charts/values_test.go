package charts

import (
	"slices"
	"strings"
	"testing"
)

// least is what every release has to say.
var least = []string{"--set", "image.repository=registry.example/kuadrant", "--set", "zones[0].name=example.com"}

// TestWrongValues: what cannot be meant is refused, with a message that names the value.
func TestWrongValues(t *testing.T) {
	for i, c := range []struct {
		set  string // with commas between several
		want string // part of the message
	}{
		{"mode=public", "'/mode'"},
		{"replica=3", "'replica'"},
		{"fullnameOverride=1dns", `the objects would be called "1dns"`},
		{"image.repo=x", "'repo'"},
		{"image.repository=", "image.repository is required"},
		{"image.repository=X Y", "'/image/repository'"},
		{"image.digest=sha256:1", "'/image/digest'"},
		{"zones=null", "zones is empty"},
		{"zones[0].name=a b", "'/zones/0/name'"},
		{"zones[0].name=a.example {", "'/zones/0/name'"},
		{"zones[0].nam=a", "'nam'"},
		{"zones[1].rname=a", "missing property 'name'"},
		{"zones[1].name=EXAMPLE.com.", "EXAMPLE.com. is there twice"},
		{"zones[0].nameservers[0].name=ns1.example.com,zones[0].nameservers[0].addresses[0]=x", "'/zones/0/nameservers/0/addresses/0'"},
		{"zones[0].rname=a b", "'/zones/0/rname'"},
		{"zones[0].answer=flat", "'/zones/0/answer'"},
		{"zones[0].ttl.default=-1", "'/zones/0/ttl/default'"},
		{"zones[0].publish[0].namespaces[0]=A", "'/zones/0/publish/0/namespaces/0'"},
		{"zones[0].fallthrough=x", "'/zones/0/fallthrough'"},
		{"zones[0].fallthrough=true", "example.com has fallthrough, and no plugin behind it that answers"},
		{"zones[0].fallthrough[0]=a.example.com,zones[0].extraPlugins=log", "example.com has fallthrough"},
		{"zones[0].fallthrough=true,extraPlugins=forwarded", "example.com has fallthrough"},
		{"zones[0].transfer.to[0]=ns2.example.com", "'/zones/0/transfer/to/0'"},
		{"zones[0].tsig.key=a", "missing property 'secretName'"},
		{"zones[0].dnssec.secretName=a,zones[0].dnssec.keys[0]=K+013", "'/zones/0/dnssec/keys/0'"},
		{"bufsize=100", "'/bufsize'"},
		{"lameduck=30s", "'/lameduck'"},
		{"nsid=yes", "'/nsid'"},
		{"namespaces[0]=Shop", "'/namespaces/0'"},
		{`policies=a"b`, "'/policies'"},
		{"kinds[0]=Pod", "'/kinds/0'"},
		{"secrets=some", "'/secrets'"},
		{"writeBack=none", "'/writeBack'"},
		{"writeRate.qps=0", "'/writeRate"},
		{"zoneNamespaces[0]=a_b", "'/zoneNamespaces/0'"},
		{"lease.name=A", "'/lease/name'"},
		{"guard=5 minutes", "'/guard'"},
		{"probes.deny[0]=everything", "'/probes/deny/0'"},
		{"geoip.files[0]=geo.mmdb", "'/geoip/files/0'"},
		{"nets.text=a,nets.configMap=b", "nets.text and nets.configMap"},
		{"overrides.text=a,overrides.configMap=b", "overrides.text and overrides.configMap"},
		{"state.sizeLimit=much", "'/state/sizeLimit'"},
		{"clusters[0].name=local,clusters[0].secretName=a", "'/clusters/0/name'"},
		{"clusters[0].name=a", "missing property 'secretName'"},
		{"clusters[0].name=a,clusters[0].secretName=a,clusters[1].name=a,clusters[1].secretName=b", "clusters: a is there twice"},
		{"mode=clusterDNS", "mode clusterDNS in the namespace kuadrant-dns"},
		{"zones[0].name=cluster.local,mode=clusterDNS", "cluster.local has the cluster's own names below it"},
		{"zones[0].name=LOCAL.,mode=clusterDNS", "LOCAL. has the cluster's own names below it, those of cluster.local"},
		{"zones[0].name=arpa,mode=clusterDNS", "arpa has the cluster's own names below it, those of in-addr.arpa"},
		{"zones[0].name=ip6.arpa,mode=clusterDNS", "those of ip6.arpa"},
		{"clusterDNS.pods=all", "'/clusterDNS/pods'"},
		{"clusterDNS.forward.to[0]=a b", "'/clusterDNS/forward/to/0'"},
		{"service.type=ExternalName", "'/service/type'"},
		{"service.externalTrafficPolicy=Keep", "'/service/externalTrafficPolicy'"},
		{"service.nodePorts.udp=70000", "'/service/nodePorts/udp'"},
		{"service.loadBalancerSourceRanges[0]=192.0.2.1", "'/service/loadBalancerSourceRanges/0'"},
		{"hostPort=53,hostNetwork=true", "hostPort and hostNetwork"},
		{"ports.health=0", "'/ports/health'"},
		{"ports.health=8181", "are both 8181"},
		{"replicas=two", "'/replicas'"},
		{"resources.limit.memory=1Gi", "'limit'"},
		{"resources.limits.memory=1e9", "resources.limits.memory is"},
		{"readinessProbe.periodSeconds=0", "'/readinessProbe/periodSeconds'"},
		{"topologySpread.whenUnsatisfiable=Maybe", "'/topologySpread/whenUnsatisfiable'"},
		{"podLabels.a=b c", "'/podLabels/a'"},
		{`commonLabels.app\.kubernetes\.io/name=x`, "'/commonLabels/app.kubernetes.io~1name'"},
		{"extraVolumes[0].emptyDir.medium=Memory", "missing property 'name'"},
		{"podDisruptionBudget.maxUnavailable=101%", "'/podDisruptionBudget/maxUnavailable'"},
		{"networkPolicy.enabled=maybe", "'/networkPolicy/enabled'"},
		{"serviceAccount.name=A", "'/serviceAccount/name'"},
		{"rbac.variant=full", "'variant'"},
		{"crds.enabled=true", "'enabled'"},
		{"metrics.serviceMonitor.interval=often", "'/metrics/serviceMonitor/interval'"},
		{"console.enabled=true", "console.tokenSecret.name is required"},
		{"console.port=0", "'/console/port'"},
		{"console.hosts[0]=a b", "'/console/hosts/0'"},
	} {
		args := append([]string{"template", "a", chart, "--namespace", "kuadrant-dns", "--set", c.set}, least...)
		if strings.HasPrefix(c.set, "zones=") || strings.HasPrefix(c.set, "image.repository=") || strings.HasPrefix(c.set, "zones[0].name=") {
			args = append(args[:5], append(least, "--set", c.set)...) // the last one counts
		}
		helm := helms[i%len(helms)] // they take turns: each has its own reader of schemas
		if out, err := runHelm(t, helm, args...); err == nil || !strings.Contains(out, c.want) {
			t.Errorf("%s with %s: %v, without %q:\n%.600s", helm, c.set, err, c.want, out)
		}
	}
}

// TestRightValues: what is near to what is refused, and can be meant, is not.
func TestRightValues(t *testing.T) {
	for i, c := range []struct {
		release, set string
		want         string // part of the Corefile
	}{
		{"a", "zones[0].fallthrough=true,zones[0].extraPlugins=forward . 192.0.2.53", "    forward . 192.0.2.53"},
		{"a", "zones[0].fallthrough[0]=a.example.com,extraPlugins=log\n  hosts { fallthrough }", "  hosts {"},
		{"a", "zones[0].fallthrough=false", "example.com {"},
		{"a", "zones[0].fallthrough=true,mode=clusterDNS,service.enabled=true", "    forward . /etc/resolv.conf"},
		{"a", "zones[0].name=a.cluster.local,mode=clusterDNS,service.enabled=true", "a.cluster.local {"},
		{"a", "zones[0].name=xcluster.local,mode=clusterDNS,service.enabled=true", "xcluster.local {"},
		{"a", "zones[0].name=arpa,mode=clusterDNS,service.enabled=true,clusterDNS.reverseZones=null", "arpa {"},
		{"a", "zones[0].name=cluster.local", "cluster.local {"},
		{"1.dns", "fullnameOverride=dns", "example.com {"},
	} {
		args := append(slices.Clone(least), "--set", c.set)
		if got := render(t, helms[i%len(helms)], c.release, "kuadrant-dns", args...).corefile; !strings.Contains(got, c.want) {
			t.Errorf("with %s: no %q in\n%s", c.set, c.want, got)
		}
	}
}

// TestReleaseNames: a name that no Service may have, to API servers that go by RFC 1035, is refused where a release would get it.
func TestReleaseNames(t *testing.T) {
	for _, helm := range helms {
		for _, release := range []string{"1dns", "my.dns"} {
			want := `the objects would be called "` + release + `-kuadrant-coredns"`
			if out, err := runHelm(t, helm, append([]string{"template", release, chart}, least...)...); err == nil || !strings.Contains(out, want) {
				t.Errorf("%s: %v, without %q:\n%.600s", helm, err, want, out)
			}
		}
	}
}

// TestNoSecurityContext: the cluster can be left to choose all of it.
func TestNoSecurityContext(t *testing.T) {
	for _, helm := range helms {
		all := append([]string{"--set", "podSecurityContext=null,securityContext=null"}, least...)
		r := render(t, helm, "a", "kuadrant-dns", all...)
		if r.pod.SecurityContext != nil || r.server.SecurityContext != nil {
			t.Errorf("%s: %v and %v, want none", helm, r.pod.SecurityContext, r.server.SecurityContext)
		}
		r = render(t, helm, "a", "kuadrant-dns", append(all, "--set", "mode=clusterDNS,service.enabled=true")...)
		if s := r.pod.SecurityContext; s == nil || s.RunAsUser != nil || len(s.Sysctls) != 1 || s.Sysctls[0].Value != "53" {
			t.Errorf("%s: %v, want a sysctl for port 53 and nothing else", helm, s)
		}
	}
}

// TestFilesThatAreMissing: what is to be made of a file of the chart says so where there is none.
func TestFilesThatAreMissing(t *testing.T) {
	for name, file := range map[string]string{"prometheusRule": "rules.yaml", "dashboard": "dashboard.json"} {
		dir := copied(t)
		removeFile(t, dir, file)
		out, err := runHelm(t, helms[0], append([]string{"template", "a", dir, "--set", "metrics." + name + ".enabled=true"}, least...)...)
		if err == nil || !strings.Contains(out, "this chart has no files/"+file) {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}

// TestMemoryLimit: GOMEMLIMIT is nine tenths of the limit, whatever its unit.
func TestMemoryLimit(t *testing.T) {
	for limit, want := range map[string]string{
		"512Mi": "460MiB", "1Gi": "921MiB", "1.5Gi": "1382MiB", "1G": "858MiB", "1000000Ki": "878MiB", "536870912": "460MiB",
	} {
		r := render(t, helms[0], "a", "kuadrant-dns", append([]string{"--set", "resources.limits.memory=" + limit}, least...)...)
		got := ""
		for _, e := range r.server.Env {
			if e.Name == "GOMEMLIMIT" {
				got = e.Value
			}
		}
		if got != want {
			t.Errorf("%s: GOMEMLIMIT %q, want %q", limit, got, want)
		}
	}
	for values, want := range map[string]string{"corefile": "", "host-network": "100MiB"} {
		got := ""
		for _, e := range renderFile(t, helms[0], values).server.Env {
			got += e.Value
		}
		if got != want {
			t.Errorf("%s: %q in the environment, want %q", values, got, want)
		}
	}
}
