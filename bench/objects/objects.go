// Package objects makes Gateways and DNSPolicies for benchmarks: as many as are
// wanted, each with a host of its own, in the JSON that an API server sends.
package objects

import (
	"crypto/sha256"
	"fmt"
	"strings"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/internal/tree"
)

// Origins of the zones that hosts lie in. They are of one length, so that
// queries and records of all of them are.
const (
	// Zone is for simple hosts and those with a chain.
	Zone = "one.example.com."
	// FlatZone is for hosts that are answered flat.
	FlatZone = "two.example.com."
)

// hostsPerNamespace is how many hosts share a namespace.
const hostsPerNamespace = 100

// Host returns the name of host i in a zone: nine characters and the origin, for
// i below 100,000. Names come in another order than numbers, as the hosts of
// Gateways do.
func Host(i int, zone string) string {
	const hundred = 100_000
	return fmt.Sprintf("app-%05d.%s", i/hundred*hundred+i%hundred*40_507%hundred, zone)
}

// Absent returns a name of the same length that does not exist.
func Absent(i int, zone string) string { return fmt.Sprintf("nxd-%05d.%s", i, zone) }

// MixedCase returns name with every other character in upper case.
func MixedCase(name string) string {
	b := []byte(name)
	for i := 1; i < len(b); i += 2 {
		b[i] = strings.ToUpper(name[i : i+1])[0]
	}
	return string(b)
}

// Address returns the address of Gateway n, which no other has.
func Address(n int) string {
	return fmt.Sprintf("10.%d.%d.%d", n>>16&255, n>>8&255, n&255)
}

// Object is one Gateway, and the DNSPolicy that attaches to it.
type Object struct {
	// Host is the listener's, with a final dot.
	Host    string
	Address string
	// Number makes the names of both objects; they are in the namespace of
	// Number/100.
	Number int
	// Geo is the code of a weightedGeo policy, such as GEO-EU; "" makes a simple
	// one. Default is whether the group serves everybody else too.
	Geo     string
	Default bool
	// HealthCheck is the policy's, in JSON; "" for none.
	HealthCheck string
}

// Simple returns host i with a simple policy.
func Simple(i int) Object {
	return Object{Host: Host(i, Zone), Address: Address(i), Number: i}
}

// Steered returns host i of a zone in two continents: two Gateways with
// weightedGeo policies, Europe the default. They have other names than those of
// Simple, and for each zone others.
func Steered(i int, zone string) [2]Object {
	n := 2*i + 200_000
	if zone == FlatZone {
		n += 400_000
	}
	return [2]Object{
		{Host: Host(i, zone), Address: Address(n), Number: n, Geo: "GEO-EU", Default: true},
		{Host: Host(i, zone), Address: Address(n + 1), Number: n + 1, Geo: "GEO-NA"},
	}
}

// Wildcard returns *.wild below Zone with a simple policy. Number i must not be
// that of a host of Simple.
func Wildcard(i int) Object {
	return Object{Host: "*.wild." + Zone, Address: Address(i), Number: i}
}

// Namespace returns the namespace of both objects.
func (o *Object) Namespace() string { return fmt.Sprintf("team-%04d", o.Number/hostsPerNamespace) }

// GatewayName returns the Gateway's bare name.
func (o *Object) GatewayName() string { return fmt.Sprintf("web-%06d", o.Number) }

// PolicyName returns the DNSPolicy's bare name.
func (o *Object) PolicyName() string { return o.GatewayName() + "-dnspolicy" }

// uid returns a UID for the object of the given kind.
func (o *Object) uid(kind string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d", kind, o.Number))
	return fmt.Sprintf("%x-%x-4%x-a%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
}

// Gateway returns the Gateway as an API server sends it in a list or a watch:
// what the server and the Gateway's controller have added is there too.
func (o *Object) Gateway() []byte {
	return fmt.Appendf(nil, gatewayForm, o.GatewayName(), o.Namespace(), o.Number+1000, o.uid("Gateway"),
		`"labels":{"kuadrant.io/gateway":"true"},`, o.Host[:len(o.Host)-1], o.Address)
}

// Policy returns the DNSPolicy (kuadrant.io/v1) as an API server sends it.
func (o *Object) Policy() []byte {
	return fmt.Appendf(nil, policyForm, o.PolicyName(), o.Namespace(), o.Number+1000, o.uid("DNSPolicy"),
		o.check()+o.balancing(), o.GatewayName())
}

// Provider returns the Secret that the policies of o's namespace refer to.
func (o *Object) Provider() []byte {
	return fmt.Appendf(nil, `{"apiVersion":"v1","kind":"Secret","type":"kuadrant.io/coredns","metadata":{"name":"dns-provider","namespace":"%s"},"stringData":{"ZONES":"%s,%s"}}`,
		o.Namespace(), Zone, FlatZone)
}

func (o *Object) check() string {
	if o.HealthCheck == "" {
		return ""
	}
	return `"healthCheck":` + o.HealthCheck + ","
}

func (o *Object) balancing() string {
	if o.Geo == "" {
		return ""
	}
	return fmt.Sprintf(`"loadBalancing":{"defaultGeo":%v,"geo":%q,"weight":120},`, o.Default, o.Geo)
}

// The fields stand in the order in which an API server writes them.
const (
	gatewayForm = `{"apiVersion":"gateway.networking.k8s.io/v1","kind":"Gateway","metadata":{"creationTimestamp":"2026-01-15T10:22:33Z","generation":1,` +
		`%[5]s"managedFields":[` +
		`{"apiVersion":"gateway.networking.k8s.io/v1","fieldsType":"FieldsV1","fieldsV1":{"f:metadata":{"f:labels":{".":{},"f:kuadrant.io/gateway":{}}},"f:spec":{".":{},"f:gatewayClassName":{},"f:listeners":{".":{},"k:{\"name\":\"api\"}":{".":{},"f:allowedRoutes":{".":{},"f:namespaces":{".":{},"f:from":{}}},"f:hostname":{},"f:name":{},"f:port":{},"f:protocol":{},"f:tls":{".":{},"f:certificateRefs":{},"f:mode":{}}}}}},"manager":"kubectl","operation":"Apply","time":"2026-01-15T10:22:33Z"},` +
		`{"apiVersion":"gateway.networking.k8s.io/v1","fieldsType":"FieldsV1","fieldsV1":{"f:status":{"f:addresses":{},"f:conditions":{"k:{\"type\":\"Accepted\"}":{"f:lastTransitionTime":{},"f:message":{},"f:observedGeneration":{},"f:reason":{},"f:status":{}},"k:{\"type\":\"Programmed\"}":{"f:lastTransitionTime":{},"f:message":{},"f:observedGeneration":{},"f:reason":{},"f:status":{}}},"f:listeners":{".":{},"k:{\"name\":\"api\"}":{".":{},"f:attachedRoutes":{},"f:conditions":{},"f:name":{},"f:supportedKinds":{}}}}},"manager":"pilot-discovery","operation":"Update","subresource":"status","time":"2026-01-15T10:22:34Z"}],` +
		`"name":"%[1]s","namespace":"%[2]s","resourceVersion":"%[3]d","uid":"%[4]s"},` +
		`"spec":{"gatewayClassName":"istio","listeners":[{"allowedRoutes":{"namespaces":{"from":"All"}},"hostname":"%[6]s","name":"api","port":443,"protocol":"HTTPS","tls":{"certificateRefs":[{"group":"","kind":"Secret","name":"%[1]s-tls"}],"mode":"Terminate"}}]},` +
		`"status":{"addresses":[{"type":"IPAddress","value":"%[7]s"}],"conditions":[` +
		`{"lastTransitionTime":"2026-01-15T10:22:34Z","message":"Resource accepted","observedGeneration":1,"reason":"Accepted","status":"True","type":"Accepted"},` +
		`{"lastTransitionTime":"2026-01-15T10:22:34Z","message":"Resource programmed, assigned to service(s) %[1]s-istio.%[2]s.svc.cluster.local:443","observedGeneration":1,"reason":"Programmed","status":"True","type":"Programmed"}],` +
		`"listeners":[{"attachedRoutes":1,"conditions":[` +
		`{"lastTransitionTime":"2026-01-15T10:22:34Z","message":"No errors found","observedGeneration":1,"reason":"Accepted","status":"True","type":"Accepted"},` +
		`{"lastTransitionTime":"2026-01-15T10:22:34Z","message":"No errors found","observedGeneration":1,"reason":"NoConflicts","status":"False","type":"Conflicted"},` +
		`{"lastTransitionTime":"2026-01-15T10:22:34Z","message":"No errors found","observedGeneration":1,"reason":"Programmed","status":"True","type":"Programmed"},` +
		`{"lastTransitionTime":"2026-01-15T10:22:34Z","message":"No errors found","observedGeneration":1,"reason":"ResolvedRefs","status":"True","type":"ResolvedRefs"}],` +
		`"name":"api","supportedKinds":[{"group":"gateway.networking.k8s.io","kind":"HTTPRoute"},{"group":"gateway.networking.k8s.io","kind":"GRPCRoute"}]}]}}`

	policyForm = `{"apiVersion":"kuadrant.io/v1","kind":"DNSPolicy","metadata":{"creationTimestamp":"2026-01-15T10:23:00Z","generation":1,"managedFields":[` +
		`{"apiVersion":"kuadrant.io/v1","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{".":{},"f:loadBalancing":{".":{},"f:defaultGeo":{},"f:geo":{},"f:weight":{}},"f:providerRefs":{},"f:targetRef":{".":{},"f:group":{},"f:kind":{},"f:name":{}}}},"manager":"kubectl","operation":"Apply","time":"2026-01-15T10:23:00Z"},` +
		`{"apiVersion":"kuadrant.io/v1","fieldsType":"FieldsV1","fieldsV1":{"f:status":{".":{},"f:conditions":{},"f:totalRecords":{}}},"manager":"manager","operation":"Update","subresource":"status","time":"2026-01-15T10:23:01Z"}],` +
		`"name":"%[1]s","namespace":"%[2]s","resourceVersion":"%[3]d","uid":"%[4]s"},` +
		`"spec":{%[5]s"providerRefs":[{"name":"dns-provider"}],"targetRef":{"group":"gateway.networking.k8s.io","kind":"Gateway","name":"%[6]s"}},` +
		`"status":{"conditions":[` +
		`{"lastTransitionTime":"2026-01-15T10:23:01Z","message":"DNSPolicy has been accepted","observedGeneration":1,"reason":"Accepted","status":"True","type":"Accepted"},` +
		`{"lastTransitionTime":"2026-01-15T10:23:01Z","message":"DNSPolicy has been successfully enforced","observedGeneration":1,"reason":"Enforced","status":"True","type":"Enforced"}],"totalRecords":1}}`
)

// Cluster is a cluster that objects are put into, as a source would hold it.
type Cluster struct {
	name     string
	gateways *tree.Edit[*api.Gateway]
	policies *tree.Edit[*api.DNSPolicy]
	secrets  *tree.Edit[*api.Secret]
	now      api.Cluster
}

// NewCluster returns a cluster without objects.
func NewCluster(name string) *Cluster {
	c := &Cluster{name: name, now: api.Cluster{Name: name, UID: "uid of " + name}}
	for k := range c.now.Listings {
		c.now.Listings[k] = api.Listed
	}
	c.edit()
	return c
}

func (c *Cluster) edit() {
	c.gateways, c.policies, c.secrets = c.now.Gateways.Edit(), c.now.Policies.Edit(), c.now.Secrets.Edit()
}

// Put decodes both objects from their JSON and puts them in place of those of
// the same names.
func (c *Cluster) Put(o Object) error {
	g, err := api.DecodeGateway(c.name, o.Gateway())
	if err != nil {
		return err
	}
	p, err := api.DecodePolicy(c.name, o.Policy())
	if err != nil {
		return err
	}
	if _, ok := c.secrets.Get(o.Namespace() + "/dns-provider"); !ok {
		s, err := api.DecodeSecret(c.name, o.Provider())
		if err != nil {
			return err
		}
		c.secrets.Set(s.Name, s)
		c.now.Changed = append(c.now.Changed, api.Ref{Kind: api.KindSecret, Name: s.Name})
	}
	c.gateways.Set(g.Name, g)
	c.policies.Set(p.Name, p)
	c.now.Changed = append(c.now.Changed, api.Ref{Kind: api.KindGateway, Name: g.Name}, api.Ref{Kind: api.KindDNSPolicy, Name: p.Name})
	return nil
}

// Move gives Gateway n another address. It must be there.
func (c *Cluster) Move(o Object, address string) {
	name := o.Namespace() + "/" + o.GatewayName()
	g, _ := c.gateways.Get(name)
	moved := *g
	moved.Addresses = []api.Address{{Type: api.IPAddress, Value: address}}
	c.gateways.Set(name, &moved)
	c.now.Changed = append(c.now.Changed, api.Ref{Kind: api.KindGateway, Name: name})
}

// Remove takes both objects away.
func (c *Cluster) Remove(o Object) {
	g, p := o.Namespace()+"/"+o.GatewayName(), o.Namespace()+"/"+o.PolicyName()
	c.gateways.Delete(g)
	c.policies.Delete(p)
	c.now.Changed = append(c.now.Changed, api.Ref{Kind: api.KindGateway, Name: g}, api.Ref{Kind: api.KindDNSPolicy, Name: p})
}

// Publish returns what a source would publish now: everything, with what was
// put or moved since the last call.
func (c *Cluster) Publish() *api.Cluster {
	c.now.Gateways, c.now.Policies, c.now.Secrets = c.gateways.Map(), c.policies.Map(), c.secrets.Map()
	published := c.now
	c.now.Changed = nil
	c.edit()
	return &published
}
