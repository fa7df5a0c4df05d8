package deploy

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/coredns-kuadrant/kuadrant/internal/kubetest"
)

// least has the values that every release must set.
var least = []string{"--set", "image.repository=registry.example/kuadrant", "--set", "zones[0].name=example.com"}

// TestWrongValues: invalid values are refused, with a message that names the value.
func TestWrongValues(t *testing.T) {
	for i, c := range []struct {
		set  string // separated by commas
		want string // a part of the message
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
		{"zones[0].nameservers[0].name=ns1.EXAMPLE.com.", "name server ns1.EXAMPLE.com. lies in the zone example.com and has no addresses"},
		{"zones[0].nameservers[0].name=example.com", "name server example.com lies in the zone example.com"},
		{"zones[0].nameservers[0].name=ns1.example.net,zones[0].nameservers[1].name=NS1.example.net.", "example.com has the name server NS1.example.net. twice"},
		{"zones[0].nameservers[0].name=192.0.2.53", "the name server 192.0.2.53, which is an address"},
		{"zones[0].nameservers[0].name=ns1.example.com,zones[0].nameservers[0].addresses[0]=192.0.2.256", "'/zones/0/nameservers/0/addresses/0'"},
		{"zones[0].nameservers[0].name=ns1.example.com,zones[0].nameservers[0].addresses[0]=2001:db8:::53", `the address "2001:db8:::53", which is none`},
		{"zones[0].nameservers[0].name=ns1.example.com,zones[0].nameservers[0].addresses[0]=1:2:3:4:5:6:7:8:9", `which is none`},
		{"zones[0].nameservers[0].name=ns1.example.com,zones[0].nameservers[0].addresses[0]=0.0.0.0", "to which no resolver can send queries"},
		{"zones[0].nameservers[0].name=ns1.example.com,zones[0].nameservers[0].addresses[0]=ff02::1", "to which no resolver can send queries"},
		{"zones[0].ownerTXT=..a", "'/zones/0/ownerTXT'"},
		{"zones[0].rname=a b", "'/zones/0/rname'"},
		{"zones[0].answer=flat", "'/zones/0/answer'"},
		{"zones[0].ttl.default=-1", "'/zones/0/ttl/default'"},
		{"zones[0].publish[0].namespaces[0]=A", "'/zones/0/publish/0/namespaces/0'"},
		{"zones[0].publish[0].namespaces[0]=a,zones[0].publish[1].namespaces[0]=b", "example.com has two entries in publish for example.com"},
		{"zones[0].publish[0].namespaces[0]=a,zones[0].publish[1].domain=*.Example.COM.,zones[0].publish[1].namespaces[0]=a", "two entries in publish for example.com"},
		{"zones[1].name=example.org,zones[0].publish[0].domain=a.example,zones[0].publish[0].namespaces[0]=a,zones[1].publish[0].domain=a.example,zones[1].publish[0].namespaces[0]=b", "example.org lets b publish in a.example, and another zone a"},
		{"zones[0].publish[0].domain=a.example.com,zones[0].publish[0].namespaces[0]=a", "publish has a.example.com, a part of example.com, and nothing for the rest"},
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
		{"guard=48h", "guard is 48h: 24h is the most"},
		{"guard=23h59m61s", "guard is 23h59m61s: 24h is the most"},
		{"probes.deny[0]=everything", "'/probes/deny/0'"},
		{"probes.deny[0]=300.1.1.1", "'/probes/deny/0'"},
		{"probes.deny[0]=10.0.0.0/33", "'/probes/deny/0'"},
		{"probes.allow[0]=fd00::/129", "'/probes/allow/0'"},
		{"probes.allow[0]=fd00::1::/64", `probes.allow has "fd00::1::/64"`},
		{"policies=a in (", `policies is "a in ("`},
		{"geoip.files[0]=geo.mmdb", "'/geoip/files/0'"},
		{"nets.text=a,nets.configMap=b", "nets.text and nets.configMap"},
		{"overrides.text=a,overrides.configMap=b", "overrides.text and overrides.configMap"},
		{"state.sizeLimit=much", "'/state/sizeLimit'"},
		{"state.volume.persistentVolumeClaim.claimName=a", "state.volume is one claim, and replicas is 2"},
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
		{"replicas=-1", "'/replicas'"},
		{"resources.limit.memory=1Gi", "'limit'"},
		{"resources.requests.memroy=1Gi", "'memroy'"},
		{"securityContext.readOnlyRootFileSystem=true", "'readOnlyRootFileSystem'"},
		{"networkPolicy.metricsFrom[0].namespaceSelectors.a=b", "'namespaceSelectors'"},
		{"state.volume.hostpath.path=/a", "'hostpath'"},
		{"extraVolumes[0].name=a,extraVolumes[0].secrets.name=a", "'secrets'"},
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
			args = append(args[:5], append(least, "--set", c.set)...) // the last one wins
		}
		helm := helms[i%len(helms)] // they take turns: each has its own schema validator
		if out, err := runHelm(t, helm, args...); err == nil || !strings.Contains(out, c.want) {
			t.Errorf("%s with %s: %v, without %q:\n%.600s", helm, c.set, err, c.want, out)
		}
	}
}

// TestRightValues: values that are close to invalid ones, but valid, are accepted.
func TestRightValues(t *testing.T) {
	for i, c := range []struct {
		release, set string
		want         string // a part of the Corefile
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
		{"a", "zones[0].nameservers[0].name=ns1.xexample.com", "nameserver ns1.xexample.com"},
		{"a", "zones[0].nameservers[0].name=ns1.example.com,zones[0].nameservers[0].addresses={192.0.2.255,2001:db8::,1:2:3:4:5:6:7:8,::ffff:192.0.2.1}", "nameserver ns1.example.com 192.0.2.255 2001:db8:: 1:2:3:4:5:6:7:8 ::ffff:192.0.2.1"},
		{"a", "zones[1].name=example.org,zones[0].publish[0].domain=a.example,zones[0].publish[0].namespaces={a,b},zones[1].publish[0].domain=a.example,zones[1].publish[0].namespaces={b,a}", "publish a.example b a"},
		{"a", "zones[0].publish[0].namespaces={*}", "publish example.com *"},
		{"a", "zones[0].publish[0].domain=a.example.com,zones[0].publish[0].namespaces={a},extraProperties=publish example.com b types TXT", "publish a.example.com a"},
		{"a", "guard=23h59m60s", "guard 23h59m60s"},
		{"a", "guard=0", "guard 0"},
		{"a", "probes.deny={::/0,0.0.0.0/0,255.255.255.255/32,fd00::/128,64:ff9b::192.0.2.0/120}", "probe-deny ::/0 0.0.0.0/0 255.255.255.255/32 fd00::/128 64:ff9b::192.0.2.0/120"},
		{"a", "replicas=1,state.volume.persistentVolumeClaim.claimName=a", "example.com {"},
	} {
		args := append(slices.Clone(least), "--set", c.set)
		if got := render(t, helms[i%len(helms)], c.release, "kuadrant-dns", args...).corefile; !strings.Contains(got, c.want) {
			t.Errorf("with %s: no %q in\n%s", c.set, c.want, got)
		}
	}
}

// TestReleaseNames: the chart refuses a release name that would give a Service an invalid name (RFC
// 1035).
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

// TestNoSecurityContext: all of it can be left to the cluster.
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

// TestFilesThatAreMissing: a missing file of the chart gives a clear error.
func TestFilesThatAreMissing(t *testing.T) {
	for name, file := range map[string]string{"prometheusRule": "rules.yaml", "dashboard": "dashboard.json"} {
		dir := copiedChart(t)
		if err := os.Remove(filepath.Join(dir, "files", file)); err != nil {
			t.Fatal(err)
		}
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

// TestSelectors: the chart accepts label selectors, and refuses anything else in their place.
func TestSelectors(t *testing.T) {
	for i, selector := range []string{
		"a", "!a", "a,b", "a=b", "a==b", "a!=b", "a=", "env in (prod, test)", "env notin (prod)", "x.example/a in (b,c),!d", "n>5", "n < 5",
		"a in (", "a in b", "a b", "a,,b", "=b", "a in (b", "a=b c", "-a", "n>x", "a)", "(a)", "a===b", "!a=b",
	} {
		_, err := labels.Parse(selector)
		text := written(t, fmt.Sprintf("policies: %q", selector))
		out, refused := runHelm(t, helms[i%len(helms)], append([]string{"template", "a", chart, "-f", text}, least...)...)
		if (err != nil) != (refused != nil) || refused != nil && !strings.Contains(out, fmt.Sprintf("policies is %q", selector)) {
			t.Errorf("%q: labels say %v, the chart %v:\n%.300s", selector, err, refused, out)
		}
	}
}

// TestNullValues: a null value counts as empty, or a message says that it is missing. No template
// fails on it or prints it.
func TestNullValues(t *testing.T) {
	var values map[string]any
	readYAML(t, filepath.Join(chart, "values.yaml"), &values)
	paths := pathsOf(values, "")
	if len(paths) < 150 {
		t.Fatalf("%d values", len(paths))
	}
	empty := 0
	for i, path := range paths {
		helm, name := helms[i%len(helms)], strings.ReplaceAll(path[strings.LastIndex(path, ".")+1:], "\\", "")
		out, err := runHelm(t, helm, slices.Concat([]string{"template", "a", chart}, least, []string{"--set", path + "=null"})...)
		switch {
		case err == nil && strings.Contains(out, "<nil>"):
			t.Errorf("%s with %s=null writes out <nil>", helm, path)
		case err == nil:
			empty++
		case !strings.Contains(out, "missing property '"+name+"'") && path != "zones" && path != "image.repository": // own messages
			t.Errorf("%s with %s=null:\n%.600s", helm, path, out)
		}
	}
	if empty < 50 || empty > len(paths)-50 {
		t.Errorf("of %d values %d may be null", len(paths), empty)
	}
	for i, path := range []string{"resources", "replicas", "guard", "commonLabels", "podLabels", "clusterDNS.podLabels", "extraEnv", "topologySpread.enabled"} {
		set := append(slices.Clone(least), "--set", "mode=clusterDNS,service.enabled=true,"+path+"=null")
		out, err := runHelm(t, helms[i%len(helms)], append([]string{"template", "a", chart}, set...)...)
		if required := path == "topologySpread.enabled"; required != (err != nil) {
			t.Errorf("%s=null: %v\n%.300s", path, err, out)
		}
	}
}

// pathsOf returns the names of all values, including sections, in the form of --set.
func pathsOf(values map[string]any, before string) (paths []string) {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		path := before + strings.ReplaceAll(name, ".", "\\.")
		paths = append(paths, path)
		if section, ok := values[name].(map[string]any); ok {
			paths = append(paths, pathsOf(section, path+".")...)
		}
	}
	return paths
}

// TestReplicas: the number of servers is that of the values, or unset for an autoscaler. The notes
// say which.
func TestReplicas(t *testing.T) {
	for _, helm := range helms {
		for set, want := range map[string]struct {
			replicas string
			notes    string
		}{
			"replicas=3":    {"3", "mode delegatedZone: 3 servers."},
			"replicas=0":    {"0", "mode delegatedZone: 0 servers."},
			"replicas=null": {"none", "mode delegatedZone: as many servers as an autoscaler says."},
		} {
			args := append([]string{"--set", set}, least...)
			got := "none"
			if n := render(t, helm, "a", "kuadrant-dns", args...).deploy.Spec.Replicas; n != nil {
				got = fmt.Sprint(*n)
			}
			if notes := notesOf(t, helm, args...); got != want.replicas || !strings.Contains(notes, want.notes) {
				t.Errorf("%s with %s: %s replicas, want %s; the notes are\n%s", helm, set, got, want.replicas, notes)
			}
		}
	}
}

// notesOf returns the notes of an installation.
func notesOf(t *testing.T, helm string, args ...string) string {
	t.Helper()
	server := kubetest.Shared(t) // Helm 3 needs one even for a dry run; objects of other tests do not matter
	out := must(t, helm, append([]string{"install", "a", chart, "--dry-run=client", "--take-ownership", "--kubeconfig", server.Kubeconfig, "--namespace", "kuadrant-dns"}, args...)...)
	_, notes, _ := strings.Cut(out, "\nNOTES:\n")
	return notes
}

// TestNotes: the notes say who may publish, where clients are, and which servers check targets.
// They warn of two PodDisruptionBudgets, of load balancers with a hostname, and of Corefiles that
// stay.
func TestNotes(t *testing.T) {
	const budget = "podDisruptionBudget.enabled=false"
	for i, c := range []struct {
		namespace, set, has, lacks string
	}{
		{"kube-system", "mode=clusterDNS", budget, "loadBalancer"},
		{"kube-system", "mode=clusterDNS,podDisruptionBudget.enabled=false", "docs/cluster-dns.md", budget},
		{"kube-system", "mode=clusterDNS,clusterDNS.podLabels=null", "docs/cluster-dns.md", budget},
		{"dns", "mode=clusterDNS,service.enabled=true", ".spec.clusterIP", budget},
		{"dns", "nsid=true", "{.ip}{.hostname}", budget},
		{"dns", "zones[0].name=example.com", "example.com: any namespace may publish", budget},
		{"dns", "zones[0].publish[0].namespaces={shop,web}", "example.com: shop, web", "any namespace"},
		{"dns", "zones[1].name=a.example.com,zones[0].publish[0].namespaces={*}", "example.com: any namespace\n", "may publish"},
		{"dns", "zones[0].name=example.com", "Geo: no database", budget},
		{"dns", "geoip.files[0]=/geo.mmdb", "Rights: ", "Geo: "},
		{"dns", "extraProperties=nets /etc/nets", "Rights: ", "Geo: "},
		{"dns", "probes.deny[0]=10.0.0.0/8", "Never to 10.0.0.0/8", "Tenants choose"},
		{"dns", "hostNetwork=true", "from its node's address", "Never to"},
		{"dns", "probes.enabled=false", "dns-operator", "Firewalls"},
		{"dns", "probes.enabled=false,kinds[0]=Gateway", "nobody checks targets", "dns-operator"},
		{"dns", "corefile=.", "Your corefile decides", "Checks: "},
		{"dns", "crds.keep=false", "ConfigMaps with Corefiles stay", "CustomResourceDefinitions stay"},
		{"dns", "replicas=null,state.volume.persistentVolumeClaim.claimName=a", "two pods must not share a state", budget},
	} {
		notes := notesOf(t, helms[i%len(helms)], append([]string{"--namespace", c.namespace, "--set", c.set}, least...)...)
		if !strings.Contains(notes, c.has) || strings.Contains(notes, c.lacks) {
			t.Errorf("%s: want %q and not %q in\n%s", c.set, c.has, c.lacks, notes)
		}
	}
}
