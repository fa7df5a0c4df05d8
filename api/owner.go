package api

import "strings"

// Owner is a line of the registry: the object that has acquired a name (rule 5.4). All Records of
// one Zone are that Zone.
type Owner struct {
	// Cluster is the name of the object's cluster. ClusterUID is its Cluster.UID, which outlives the
	// name; "" in lines of the first edition.
	Cluster, ClusterUID string
	Kind                Kind
	Name                string // namespace/name
	// UID is that of the object; "" where it is not known, and any will do.
	UID string
	// Secret is the DNS provider that the policy published the host through, the first one by name: a Secret
	// of its namespace, without that. "" for none, and in lines of the first edition.
	Secret string
}

// Namespace returns the namespace that the name belongs to.
func (o Owner) Namespace() string { m := Meta{Name: o.Name}; return m.Namespace() }

// Is reports whether the object is the owner.
func (o Owner) Is(kind Kind, m *Meta) bool {
	return o.Kind == kind && o.Cluster == m.Cluster && o.Name == m.Name && (o.UID == "" || m.UID == "" || o.UID == m.UID)
}

// zoneKey begins the keys of zones in Objects.Acquired, cutKey those of a rule that is gone
// in older registries; no name has them, in the spelling that names have there.
const (
	zoneKey = "zone:"
	cutKey  = "cut:"
)

// ZoneKey returns the key under which Objects.Acquired has who was served as the zone of
// that name, which has a final dot. The names in a zone have keys of their own.
func ZoneKey(origin string) string { return zoneKey + origin }

// OfZoneKey returns the name of the zone that key is of; ok is false where it is no zone's.
func OfZoneKey(key string) (origin string, ok bool) { return strings.CutPrefix(key, zoneKey) }

// IsObsolete reports whether key is one that only older versions have written.
func IsObsolete(key string) bool { return strings.HasPrefix(key, cutKey) }
