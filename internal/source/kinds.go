package source

import (
	"strings"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/internal/near"
)

// kindInfo is what a source knows about a kind.
type kindInfo struct {
	versions []string // the readable versions, the best first
	goKind
	// byName is set if the source watches only the metadata of all objects, and fetches the needed
	// ones by name: see secretStore.
	byName bool
	// fields is the field selector for its objects; "" for all.
	fields string
	// optional is set if many clusters do without the kind: its absence is not worth a warning.
	optional bool
}

var kinds = [api.NumKinds]kindInfo{
	api.KindGateway:   {versions: []string{"v1", "v1beta1"}, goKind: goType[api.Gateway](api.DecodeGateway)},
	api.KindDNSPolicy: {versions: []string{"v1", "v1alpha2"}, goKind: goType[api.DNSPolicy](api.DecodePolicy)},
	api.KindProbe:     {versions: []string{"v1alpha1"}, optional: true, goKind: goType[api.HealthCheckProbe](api.DecodeProbe)},
	api.KindZone:      {versions: []string{"v1alpha1"}, optional: true, goKind: goType[api.Zone](api.DecodeZone)},
	api.KindRecord:    {versions: []string{"v1alpha1"}, optional: true, goKind: goType[api.Record](api.DecodeRecord)},
	// v1alpha1 is the version of Kuadrant's own CRD, and the storage version of ours. Either CRD
	// serves it, it needs no conversion, and the choice stays the same when v1alpha2 is added or
	// removed. Both versions hold the same content, and the content decides an object's meaning.
	api.KindDNSRecord:   {versions: []string{"v1alpha1", "v1alpha2"}, optional: true, goKind: goType[api.DNSRecord](api.DecodeDNSRecord)},
	api.KindDNSEndpoint: {versions: []string{"v1alpha1"}, optional: true, goKind: goType[api.DNSEndpoint](api.DecodeDNSEndpoint)},
	// Secrets come after the kinds that refer to them: a secretStore reads those first.
	api.KindSecret: {versions: []string{"v1"}, byName: true, fields: noProviders, goKind: goType[api.Secret](api.DecodeSecret)},
}

// noProviders excludes the most common types of Secrets that are never referred to.
const noProviders = "type!=helm.sh/release.v1,type!=kubernetes.io/service-account-token"

// goKind is the part of a kind that depends on its Go type.
type goKind interface {
	// decode returns the object in data (JSON), and its name ("namespace/name"). It fails only if
	// the object has no usable identity.
	decode(cluster string, data []byte) (name string, value any, err error)
	// collect returns an empty collection for the kind.
	collect() collection
}

// goType implements goKind for objects of type T; the function decodes one object.
type goType[T any] func(cluster string, data []byte) (*T, error)

func (read goType[T]) decode(cluster string, data []byte) (string, any, error) {
	o, err := read(cluster, data)
	if err != nil {
		return "", nil, err
	}
	return api.NameOf(o), o, nil
}

func (goType[T]) collect() collection { return new(objects[T]) }

// kindOf returns the kind of an apiVersion and kind; ok is false if the source does not read it.
func kindOf(apiVersion, kind string) (k api.Kind, ok bool) {
	for i := range kinds {
		k = api.Kind(i)
		if k.String() != kind {
			continue
		}
		for _, v := range kinds[i].versions {
			if k.APIVersion(v) == apiVersion {
				return k, true
			}
		}
	}
	return 0, false
}

// meantKind returns the kind that a misspelled head most likely means, and how to write it; "" for
// none. If the head names an API group, the kind is of that group.
func meantKind(h head) (k api.Kind, write string) {
	group, _, _ := strings.Cut(h.APIVersion, "/")
	for i := range kinds {
		switch k = api.Kind(i); {
		case k.Core() || group != "" && k.Group() != group:
		case h.Kind == k.String():
			return k, "apiVersion: " + k.APIVersion(kinds[i].versions[0])
		case group != "" && near.Edits(strings.ToLower(h.Kind), strings.ToLower(k.String()), 1) <= 1: // 2: TLSPolicy is near DNSPolicy
			return k, "kind: " + k.String()
		}
	}
	return 0, ""
}
