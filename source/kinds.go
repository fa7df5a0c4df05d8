package source

import "github.com/coredns-kuadrant/kuadrant/api"

// kindInfo is what a source must know of a kind to read it.
type kindInfo struct {
	group    string
	versions []string // that we can read, the best first
	resource string   // as it stands in URLs and in RBAC rules
	// decode returns the object that data (JSON) holds, and its name
	// ("namespace/name"). It fails only where the object has no usable identity.
	decode  func(cluster string, data []byte) (name string, value any, err error)
	collect func() collection
}

var kinds = [api.NumKinds]kindInfo{
	api.KindGateway: {
		group:    "gateway.networking.k8s.io",
		versions: []string{"v1", "v1beta1"},
		resource: "gateways",
		decode: func(cluster string, data []byte) (string, any, error) {
			g, err := api.DecodeGateway(cluster, data)
			if err != nil {
				return "", nil, err
			}
			return g.Name, g, nil
		},
		collect: func() collection { return &objects[api.Gateway]{} },
	},
	api.KindDNSPolicy: {
		group:    "kuadrant.io",
		versions: []string{"v1", "v1alpha2"},
		resource: "dnspolicies",
		decode: func(cluster string, data []byte) (string, any, error) {
			p, err := api.DecodePolicy(cluster, data)
			if err != nil {
				return "", nil, err
			}
			return p.Name, p, nil
		},
		collect: func() collection { return &objects[api.DNSPolicy]{} },
	},
}

// fullResource is the resource with its group, as messages name it.
func (k *kindInfo) fullResource() string { return k.resource + "." + k.group }

// kindOf returns the kind that an object's apiVersion and kind mean; ok is false
// where we do not read it.
func kindOf(apiVersion, kind string) (k api.Kind, ok bool) {
	for i := range kinds {
		k = api.Kind(i)
		if k.String() != kind {
			continue
		}
		for _, v := range kinds[i].versions {
			if kinds[i].group+"/"+v == apiVersion {
				return k, true
			}
		}
	}
	return 0, false
}
