package recordstest

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// kind is the meaning of the first word of a line.
type kind struct {
	kind      api.Kind
	version   string
	unnamed   []string          // the paths of words without a key, in order
	words     map[string]setter // by key; a flag's key ends in !
	begin     func(o *Object, bare string)
	endpoints bool // endpoints follow the words, one a line
}

var kinds = map[string]kind{
	"gateway": {kind: api.KindGateway, version: "gateway.networking.k8s.io/v1", words: map[string]setter{
		"host": listeners, "routes": routes, "addr": addresses, "geo": mark("labels", "kuadrant.io/lb-attribute-geo-code"),
		"programmed": func(o *Object, value string) {
			o.add("status.conditions", map[string]any{"type": "Programmed", "status": value, "reason": "Programmed", "message": "", "lastTransitionTime": epoch.Format(time.RFC3339)})
		},
	}, begin: func(o *Object, _ string) {
		o.set("spec", map[string]any{"gatewayClassName": "istio", "listeners": []any{}})
	}},
	"policy": {kind: api.KindDNSPolicy, version: "kuadrant.io/v1", words: map[string]setter{
		"gateway": str("spec.targetRef.name"), "section": str("spec.targetRef.sectionName"), "geo": str("spec.loadBalancing.geo"),
		"default!": field("spec.loadBalancing.defaultGeo"), "default": str("spec.loadBalancing.geo.defaultGeo"), "custom": field("spec.loadBalancing.weighted.custom"),
		"check": check("spec.healthCheck"), "delegate!": field("spec.delegate"), "exclude": func(o *Object, value string) { o.set("spec.excludeAddresses", list(value)) },
		"strategy": func(o *Object, value string) {
			o.set("apiVersion", "kuadrant.io/v1alpha2")
			o.set("spec.routingStrategy", value)
		},
		"weight": func(o *Object, value string) { // after strategy=
			field(map[bool]string{true: "spec.loadBalancing.weighted.defaultWeight", false: "spec.loadBalancing.weight"}[o.alpha()])(o, value)
		},
		"provider": func(o *Object, value string) { // after strategy=
			if o.alpha() {
				o.set("spec.providerRef", map[string]any{"name": value, "namespace": o.at("metadata")["namespace"], "kind": "Secret"})
			} else {
				o.add("spec.providerRefs", map[string]any{"name": value})
			}
		},
	}, begin: func(o *Object, bare string) {
		o.set("spec.targetRef", map[string]any{"group": "gateway.networking.k8s.io", "kind": "Gateway", "name": bare})
	}},
	"zone": {kind: api.KindZone, version: "kubi.zone/v1alpha1", unnamed: []string{"spec.domainName"}, words: map[string]setter{
		"in": zoneRef, "delegate": delegation, "mname": str("spec.mname"), "rname": str("spec.rname"), "ttl": field("spec.ttl"), "refresh": field("spec.refresh"),
		"retry": field("spec.retry"), "expire": field("spec.expire"), "minimum": field("spec.negativeResponseCache"), "hash": str("status.hash"), "serial": field("status.serial"),
	}},
	"record": {kind: api.KindRecord, version: "kubi.zone/v1alpha1", unnamed: []string{"spec.domainName", "spec.type"}, words: map[string]setter{
		"in": zoneRef, "ttl": field("spec.ttl"), "class": str("spec.class"),
	}},
	"dnsrecord": {kind: api.KindDNSRecord, version: "kuadrant.io/v1alpha1", endpoints: true, words: map[string]setter{
		"root": str("spec.rootHost"), "zone": str("spec.zoneID"), "provider": str("spec.providerRef.name"), "served": mark("labels", api.LabelZoneName),
		"check": check("spec.healthCheck"),
	}},
	"dnsendpoint": {kind: api.KindDNSEndpoint, version: "externaldns.k8s.io/v1alpha1", endpoints: true},
	"secret":      {kind: api.KindSecret, version: "v1", words: map[string]setter{"type": str("type")}},
	"probe": {kind: api.KindProbe, version: "kuadrant.io/v1alpha1", unnamed: []string{"spec.address"}, words: map[string]setter{
		"host": str("spec.host"), "healthy": field("status.healthy"), "check": check("spec"),
	}},
}

// everywhere has the words of all kinds.
var everywhere = map[string]setter{
	"uid": str("metadata.uid"), "generation": field("metadata.generation"), "at": age, "labels": marks("labels"), "annotations": marks("annotations"),
	"override": mark("annotations", "kuadrant.io/health-override"), "fallback": mark("annotations", "kuadrant.io/geo-fallback"),
	"priority": mark("annotations", "kuadrant.io/priority"), "order": mark("annotations", "kuadrant.io/order"),
	"sticky": mark("annotations", "kuadrant.io/sticky"), "fail": mark("annotations", "kuadrant.io/fail"),
	"max-answers": mark("annotations", "kuadrant.io/max-answers"), "targets": mark("annotations", "kuadrant.io/targets"),
	"probe-address": mark("annotations", "kuadrant.io/probe-address"), "target": mark("annotations", api.AnnotationTarget),
	"managed!":  func(o *Object, _ string) { mark("labels", api.LabelManagedBy)(o, api.ManagedBy) },
	"deleting!": func(o *Object, _ string) { o.set("metadata.deletionTimestamp", epoch.Format(time.RFC3339)) },
	"owner": func(o *Object, value string) {
		p := append(strings.Split(value, "/"), "", "")
		o.add("metadata.ownerReferences", map[string]any{"apiVersion": "kuadrant.io/v1", "kind": p[0], "name": p[1], "uid": p[2], "controller": true})
	},
}

func (o *Object) alpha() bool { return o.doc["apiVersion"] == "kuadrant.io/v1alpha2" }

func age(o *Object, value string) {
	if d, err := time.ParseDuration(value); err == nil {
		value = epoch.Add(d).Format(time.RFC3339)
	}
	if o.set("metadata.creationTimestamp", value); value == "-" {
		delete(o.at("metadata"), "creationTimestamp")
	}
}

// listeners adds a listener for each [NAME:]HOST[:PORT], with a route.
func listeners(o *Object, value string) {
	for i, h := range strings.Split(value, ",") {
		name, port, parts := fmt.Sprintf("l%d", i), 80, strings.Split(h, ":")
		if n, err := strconv.Atoi(parts[len(parts)-1]); err == nil && len(parts) > 1 {
			port, parts = n, parts[:len(parts)-1]
		}
		if len(parts) > 1 {
			name, parts = parts[0], parts[1:]
		}
		l := map[string]any{"name": name, "port": port, "protocol": "HTTP"}
		switch {
		case port == 443:
			l["protocol"] = "HTTPS"
		case port == 0:
			l["protocol"] = "UDP"
		}
		if parts[0] != "" {
			l["hostname"] = parts[0]
		}
		o.add("spec.listeners", l)
		o.add("status.listeners", map[string]any{"name": name, "attachedRoutes": 1, "supportedKinds": []any{}, "conditions": []any{}})
	}
}

// routes sets the number of routes of each listener; - leaves out the status.
func routes(o *Object, value string) { // after host=
	all, _ := o.at("status")["listeners"].([]any)
	var kept []any
	for i, n := range strings.Split(value, ",") {
		if i < len(all) && n != "-" {
			all[i].(map[string]any)["attachedRoutes"] = parsed(n)
			kept = append(kept, all[i])
		}
	}
	o.set("status.listeners", append(kept, all[min(len(all), strings.Count(value, ",")+1):]...))
}

// addresses adds addresses to a Gateway's status: an IP, a hostname, or CLUSTER/ADDRESS;
// multi:ADDRESS is one without its cluster.
func addresses(o *Object, value string) {
	for a := range strings.SplitSeq(value, ",") {
		a, multi := strings.CutPrefix(a, "multi:")
		bare, kind := a[strings.IndexByte(a, '/')+1:], api.IPAddress
		if _, err := netip.ParseAddr(bare); err != nil {
			kind = api.HostnameAddress
		}
		if multi || bare != a {
			kind = map[api.AddressType]api.AddressType{api.IPAddress: api.MultiClusterIPAddress, api.HostnameAddress: api.MultiClusterHostnameAddress}[kind]
		}
		o.add("status.addresses", map[string]any{"type": string(kind), "value": a})
	}
}

// check sets the fields of a health check: PROTOCOL[:PORT][/PATH], and KEY=VALUE after commas.
func check(path string) setter {
	return func(o *Object, value string) {
		m, words := o.at(path), strings.Split(value, ",")
		where, at, ok := strings.Cut(words[0], "/")
		protocol, port, _ := strings.Cut(where, ":")
		if m["protocol"] = protocol; port != "" {
			m["port"] = parsed(port)
		}
		if ok {
			m["path"] = "/" + at
		}
		for _, w := range words[1:] {
			key, value, _ := strings.Cut(w, "=")
			switch key {
			case "failures":
				m["failureThreshold"] = parsed(value)
			case "successes":
				m["successThreshold"] = parsed(value)
			case "headers":
				m["additionalHeadersRef"] = map[string]any{"name": value}
			default:
				m[key] = value
			}
		}
	}
}

func zoneRef(o *Object, value string) {
	ref := map[string]any{"name": value}
	if namespace, name, ok := strings.Cut(value, "/"); ok {
		ref["namespace"], ref["name"] = namespace, name
	}
	o.set("spec.zoneRef", ref)
}

// delegation adds NAMESPACES[/PATTERNS[/TYPES]]; without patterns it allows all names, zones too.
func delegation(o *Object, value string) {
	part := append(strings.SplitN(value, "/", 3), "", "")
	d, patterns, records := make(map[string]any), []any{"*", "@"}, []any{}
	if all := list(part[0]); all != nil {
		d["namespaces"] = all
	}
	if part[1] == "" {
		d["zones"] = []any{"*"}
	} else {
		patterns = list(part[1] + ",")
		patterns = patterns[:len(patterns)-1]
	}
	for _, p := range patterns {
		r := map[string]any{"pattern": p}
		if types := list(part[2]); types != nil {
			r["types"] = types
		}
		records = append(records, r)
	}
	d["records"] = records
	o.add("spec.delegations", d)
}

// endpoints adds an endpoint for each line: NAME TYPE TARGET..., with ttl=, set=, weight=, geo= or
// alias= among them.
func (o *Object) endpoints(lines []string) error {
	o.at("spec")["endpoints"] = []any{}
	for _, line := range lines {
		var words []any
		e, rest := make(map[string]any), line
		for rest != "" {
			var w string
			w, rest = cut(rest)
			key, value, ok := pair(w)
			property := map[string]string{
				"weight": "weight", "geo": "geo-code", "alias": "alias", "priority": "priority", "order": "order", "fallback": "geo-fallback",
				"sticky": "sticky", "fail": "fail", "max-answers": "max-answers",
			}[key]
			switch {
			case ok && len(words) > 1 && key == "ttl":
				e["recordTTL"] = parsed(value)
			case ok && len(words) > 1 && key == "set":
				e["setIdentifier"] = value
			case ok && len(words) > 1 && property != "":
				all, _ := e["providerSpecific"].([]any)
				e["providerSpecific"] = append(all, map[string]any{"name": property, "value": value})
			default:
				words = append(words, strings.Trim(w, "'"))
			}
		}
		if len(words) < 2 {
			return fmt.Errorf("endpoint %q: write NAME TYPE TARGET", line)
		}
		e["dnsName"], e["recordType"], e["targets"] = words[0], words[1], words[2:]
		o.add("spec.endpoints", e)
	}
	return nil
}
