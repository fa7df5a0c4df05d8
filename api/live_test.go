package api_test

import (
	"fmt"
	"strings"
	"time"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// liveGateway is a Gateway as an API server sends it, with all that is not read.
func liveGateway(i int) []byte {
	created := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Format(time.RFC3339)
	conditions := func(names ...string) string {
		var list []string
		for _, n := range names {
			list = append(list,
				`{"lastTransitionTime":"`+created+`","message":"Resource is as it should be, says the controller","observedGeneration":1,"reason":"`+n+`","status":"True","type":"`+n+`"}`)
		}
		return "[" + strings.Join(list, ",") + "]"
	}
	return fmt.Appendf(nil,
		`{"apiVersion":"gateway.networking.k8s.io/v1","kind":"Gateway","metadata":{"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{\"apiVersion\":\"gateway.networking.k8s.io/v1\",\"kind\":\"Gateway\",\"metadata\":{\"annotations\":{},\"name\":\"web-%[1]d\",\"namespace\":\"my-gateways\"},\"spec\":{\"gatewayClassName\":\"istio\",\"listeners\":[{\"allowedRoutes\":{\"namespaces\":{\"from\":\"All\"}},\"hostname\":\"app%[1]d.mn.hcpapps.net\",\"name\":\"api\",\"port\":80,\"protocol\":\"HTTP\"}]}}\n"},"creationTimestamp":"%[2]s","generation":1,"labels":{"kuadrant.io/lb-attribute-geo-code":"IE"},"managedFields":[{"apiVersion":"gateway.networking.k8s.io/v1","fieldsType":"FieldsV1","fieldsV1":{"f:metadata":{"f:annotations":{".":{},"f:kubectl.kubernetes.io/last-applied-configuration":{}},"f:labels":{".":{},"f:kuadrant.io/lb-attribute-geo-code":{}}},"f:spec":{".":{},"f:gatewayClassName":{},"f:listeners":{".":{},"k:{\"name\":\"api\"}":{".":{},"f:allowedRoutes":{".":{},"f:namespaces":{".":{},"f:from":{}}},"f:hostname":{},"f:name":{},"f:port":{},"f:protocol":{}}}}},"manager":"kubectl-client-side-apply","operation":"Update","time":"%[2]s"},{"apiVersion":"gateway.networking.k8s.io/v1","fieldsType":"FieldsV1","fieldsV1":{"f:status":{"f:addresses":{},"f:conditions":{"k:{\"type\":\"Accepted\"}":{"f:lastTransitionTime":{},"f:message":{},"f:observedGeneration":{},"f:reason":{},"f:status":{}}},"f:listeners":{".":{},"k:{\"name\":\"api\"}":{".":{},"f:attachedRoutes":{},"f:conditions":{},"f:name":{},"f:supportedKinds":{}}}}},"manager":"pilot-discovery","operation":"Update","subresource":"status","time":"%[2]s"}],"name":"web-%[1]d","namespace":"my-gateways","resourceVersion":"1234","uid":"4d3f9c3a-8b67-4b1a-9a50-%012[1]d"},"spec":{"gatewayClassName":"istio","listeners":[{"allowedRoutes":{"namespaces":{"from":"All"}},"hostname":"app%[1]d.mn.hcpapps.net","name":"api","port":80,"protocol":"HTTP"}]},"status":{"addresses":[{"type":"IPAddress","value":"172.31.200.0"}],"conditions":%[3]s,"listeners":[{"attachedRoutes":1,"conditions":%[4]s,"name":"api","supportedKinds":[{"group":"gateway.networking.k8s.io","kind":"HTTPRoute"}]}]}}`,
		i, created, conditions("Accepted", "Programmed"), conditions("Accepted", "Conflicted", "Programmed", "ResolvedRefs"))
}

// livePolicy is a simple DNSPolicy for liveGateway.
func livePolicy(i int) []byte {
	return fmt.Appendf(nil,
		`{"apiVersion":"kuadrant.io/v1","kind":"DNSPolicy","metadata":{"creationTimestamp":"2026-01-01T00:00:00Z","generation":1,"labels":{"app":"shop"},"name":"web-%[1]d","namespace":"my-gateways","resourceVersion":"1235","uid":"5d3f9c3a-8b67-4b1a-9a50-%012[1]d"},"spec":{"providerRefs":[{"name":"dns-provider"}],"targetRef":{"group":"gateway.networking.k8s.io","kind":"Gateway","name":"web-%[1]d"}}}`, i)
}

func liveProbe(i int) []byte {
	return fmt.Appendf(nil,
		`{"apiVersion":"kuadrant.io/v1alpha1","kind":"DNSHealthCheckProbe","metadata":{"creationTimestamp":"2026-01-01T00:00:00Z","generation":1,"name":"web-%[1]d","namespace":"my-gateways","resourceVersion":"1236","uid":"5d3f9c3a-8b67-4b1a-9a51-%012[1]d"},"spec":{"address":"192.0.2.1","failureThreshold":5,"hostname":"web-%[1]d.example.com","interval":"30s","path":"/healthz","port":443,"protocol":"HTTPS"},"status":{"consecutiveFailures":0,"healthy":true,"observedGeneration":1,"status":200}}`, i)
}

// liveRecord is a Record as an API server sends it, written by kubectl.
func liveRecord(i int) []byte {
	return recordOf(i, fmt.Sprintf(`"domainName":"www-%d","zoneRef":{"name":"example-org"}`, i))
}

// absoluteRecord is one that names its zone in its name.
func absoluteRecord(i int) []byte {
	return recordOf(i, fmt.Sprintf(`"domainName":"www-%d.shop.example.org."`, i))
}

func recordOf(i int, place string) []byte {
	return fmt.Appendf(nil,
		`{"apiVersion":"kubi.zone/v1alpha1","kind":"Record","metadata":{"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{\"apiVersion\":\"kubi.zone/v1alpha1\",\"kind\":\"Record\"}\n"},"creationTimestamp":"2026-01-01T00:00:00Z","generation":1,"labels":{"kubi.zone/parent-zone":"example-org.dns"},"name":"www-%[1]d","namespace":"dns","resourceVersion":"1237","uid":"6d3f9c3a-8b67-4b1a-9a51-%012[1]d"},"spec":{%[2]s,"type":"A","class":"IN","ttl":60,"rdata":"10.%[3]d.%[4]d.%[5]d"},"status":{"conditions":[{"lastTransitionTime":"2026-01-01T00:00:00Z","message":"","observedGeneration":1,"reason":"Ready","status":"True","type":"Ready"}],"fqdn":"www-%[1]d.example.org."}}`,
		i, place, i>>16&255, i>>8&255, i&255)
}

// liveZone is a Zone as an API server sends it, with its entries written back.
func liveZone(i int) []byte {
	return fmt.Appendf(nil,
		`{"apiVersion":"kubi.zone/v1alpha1","kind":"Zone","metadata":{"creationTimestamp":"2026-01-01T00:00:00Z","generation":1,"labels":{"kubi.zone/parent-zone":"example-org.dns"},"name":"z-%[1]d","namespace":"dns","resourceVersion":"1238","uid":"7d3f9c3a-8b67-4b1a-9a51-%012[1]d"},"spec":{"delegations":[{"namespaces":["shop"],"records":[{"pattern":"*","types":["A","AAAA"]},{"pattern":"@"}],"zones":["*"]}],"domainName":"z-%[1]d","zoneRef":{"name":"example-org"}},"status":{"entries":[{"class":"IN","fqdn":"z-%[1]d.example.org.","rdata":"ns.example.org. hostmaster.example.org. 2026010100 86400 7200 3600000 360","ttl":360,"type":"SOA"}],"fqdn":"z-%[1]d.example.org.","hash":"3f9c3a8b674b1a9a513f9c3a8b674b1a","serial":2026010100}}`, i)
}

// liveDNSRecord is a DNSRecord as Kuadrant's operators write it, for two geographies.
func liveDNSRecord(i int) []byte {
	return fmt.Appendf(nil,
		`{"apiVersion":"kuadrant.io/v1alpha1","kind":"DNSRecord","metadata":{"creationTimestamp":"2026-01-01T00:00:00Z","finalizers":["kuadrant.io/dns-record"],"generation":1,"labels":{"kuadrant.io/coredns-zone-name":"k.example.com","kuadrant.io/listener-name":"api"},"name":"web-%[1]d-api","namespace":"my-gateways","ownerReferences":[{"apiVersion":"kuadrant.io/v1","blockOwnerDeletion":true,"controller":true,"kind":"DNSPolicy","name":"web-%[1]d","uid":"5d3f9c3a-8b67-4b1a-9a50-%012[1]d"}],"resourceVersion":"1239","uid":"8d3f9c3a-8b67-4b1a-9a51-%012[1]d"},"spec":{"endpoints":[{"dnsName":"app%[1]d.k.example.com","recordTTL":300,"recordType":"CNAME","targets":["klb.app%[1]d.k.example.com"]},{"dnsName":"klb.app%[1]d.k.example.com","providerSpecific":[{"name":"geo-code","value":"GEO-EU"}],"recordTTL":300,"recordType":"CNAME","setIdentifier":"GEO-EU","targets":["geo-eu.klb.app%[1]d.k.example.com"]},{"dnsName":"klb.app%[1]d.k.example.com","providerSpecific":[{"name":"geo-code","value":"*"}],"recordTTL":300,"recordType":"CNAME","setIdentifier":"default","targets":["geo-eu.klb.app%[1]d.k.example.com"]},{"dnsName":"geo-eu.klb.app%[1]d.k.example.com","providerSpecific":[{"name":"weight","value":"120"}],"recordTTL":60,"recordType":"CNAME","setIdentifier":"v5128t-1prjov.klb.app%[1]d.k.example.com","targets":["v5128t-1prjov.klb.app%[1]d.k.example.com"]},{"dnsName":"v5128t-1prjov.klb.app%[1]d.k.example.com","recordTTL":60,"recordType":"A","targets":["172.31.200.0"]}],"ownerID":"2omrld2x","providerRef":{"name":"dns-provider"},"rootHost":"app%[1]d.k.example.com"},"status":{"conditions":[{"lastTransitionTime":"2026-01-01T00:00:00Z","message":"Provider ensured the dns record","observedGeneration":1,"reason":"ProviderSuccess","status":"True","type":"Ready"}],"endpoints":[],"observedGeneration":1,"ownerID":"2omrld2x"}}`, i)
}

// live are objects of all kinds but DNSEndpoint and Secret.
func live(i int) map[api.Kind][]byte {
	return map[api.Kind][]byte{
		api.KindGateway: liveGateway(i), api.KindDNSPolicy: livePolicy(i), api.KindProbe: liveProbe(i), api.KindZone: liveZone(i),
		api.KindRecord: liveRecord(i), api.KindDNSRecord: liveDNSRecord(i),
	}
}
