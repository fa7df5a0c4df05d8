package api

import "strings"

// Owner is a registry line: the object that has acquired a name (rule 5.4). All Records of one Zone
// count as that Zone.
type Owner struct {
	// Cluster is the name of the object's cluster. ClusterUID is its Cluster.UID, which outlives the
	// name; "" in lines of the first edition.
	Cluster    string `json:"cluster"`
	ClusterUID string `json:"clusterUID"`
	Kind       Kind   `json:"kind"`
	Name       string `json:"name"` // namespace/name
	// UID is the object's; "" if unknown, which matches any.
	UID string `json:"uid"`
	// Secret is the DNS provider through which the policy published the host, the first by name: a Secret of its namespace, named without
	// it. "" for none, and in lines of the first edition.
	Secret string `json:"secret"`
	// Since is since when the owner's namespace has the name, in seconds since 1970; 0 for as long as the object is there.
	Since int64 `json:"since"`
}

// Namespace returns the owner's namespace.
func (o Owner) Namespace() string { m := Meta{Name: o.Name}; return m.Namespace() }

// Is reports whether the object is the owner.
func (o Owner) Is(kind Kind, m *Meta) bool {
	return o.Kind == kind && o.Cluster == m.Cluster && o.Name == m.Name && (o.UID == "" || m.UID == "" || o.UID == m.UID)
}

// zoneKey is the prefix of the keys of zones in Objects.Acquired, cutKey that of a former rule's
// keys in older registries; no canonical name begins with them.
const (
	zoneKey = "zone:"
	cutKey  = "cut:"
)

// ZoneKey returns the key in Objects.Acquired of the Zone served under a name, which has a final
// dot. The names in a zone have keys of their own.
func ZoneKey(origin string) string { return zoneKey + origin }

// OfZoneKey returns the zone's name in key; ok is false if it is not a zone's.
func OfZoneKey(key string) (origin string, ok bool) { return strings.CutPrefix(key, zoneKey) }

// IsObsolete reports whether only older versions wrote such a key.
func IsObsolete(key string) bool { return strings.HasPrefix(key, cutKey) }
