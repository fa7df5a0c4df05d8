package api

import (
	"strings"
)

// Meta is the part of an object's metadata that is kept.
type Meta struct {
	// Name is "namespace/name"; it is the object's key in its cluster's tree.
	Name string `json:"name"`
	// Cluster is the name of the cluster that holds the object.
	Cluster string `json:"cluster"`
	UID     string `json:"uid"`
	// Created is metadata.creationTimestamp in seconds since 1970; 0, which counts as the oldest,
	// if the object has none.
	Created    int64 `json:"created"`
	Generation int64 `json:"generation"`
	// Labels are kept of Gateways and Secrets, two of DNSRecords and one of probes; nil for none.
	Labels map[string]string `json:"labels"`
	// Annotations are those whose key starts with "kuadrant.io/", and AnnotationTarget in both forms; nil for none.
	Annotations map[string]string `json:"annotations"`
	// Deleting is true from the moment the object has a deletionTimestamp.
	Deleting bool `json:"deleting"`
	// Controlled is true if another object controls this one, so no user writes it
	// (metadata.ownerReferences with controller set).
	Controlled bool `json:"controlled"`
	// Apart is true if the object's namespace is not the same as that of the same name in other
	// clusters: the operator did not list it (Cluster.Pools).
	Apart bool `json:"apart"`
	// Missing is true for an object that vanished without a reported deletion, and is kept for a
	// while (rule 8.5). No source sets it.
	Missing bool `json:"-"`
	// Fault says which parts of the object could not be read, in a sentence for its owner; "" for
	// none. The other fields of a faulty object have what could be read, and may be zero.
	Fault string `json:"fault"`
}

// Namespace returns the namespace part of m.Name.
func (m *Meta) Namespace() string {
	ns, _, _ := strings.Cut(m.Name, "/")
	return ns
}

// BareName returns the name part of m.Name.
func (m *Meta) BareName() string {
	_, name, _ := strings.Cut(m.Name, "/")
	return name
}

// LabelManagedBy names the program that wrote an object, ManagedBy is its value on those of this server.
const (
	LabelManagedBy = "app.kubernetes.io/managed-by"
	ManagedBy      = "kuadrant-coredns"
)

// Own reports whether this server wrote the DNSRecord or probe as a Child of its controller.
func (m *Meta) Own() bool { return m.Labels[LabelManagedBy] == ManagedBy }

// Realm returns what distinguishes m's namespace from others of the same name: its cluster if it is
// Apart, else "".
func (m *Meta) Realm() string {
	if m.Apart {
		return m.Cluster
	}
	return ""
}

// SameNamespace reports whether two objects are in one namespace, in one cluster or in several that
// pool it (rule 5.6): whoever may write one may write the other.
func (m *Meta) SameNamespace(o *Meta) bool {
	return m.Namespace() == o.Namespace() && m.Realm() == o.Realm()
}

// Older orders objects by age: creation time, then namespace/name, then cluster (rules 1.1 and
// 5.4). Of objects of the same age, those that are Apart come last: if an object was rolled out to
// all clusters in one second, the operator's own is where the namespace is listed. It returns a
// negative number if m is older.
func (m *Meta) Older(o *Meta) int {
	switch {
	case m.Created < o.Created:
		return -1
	case m.Created > o.Created:
		return 1
	case m.Apart && !o.Apart:
		return 1
	case !m.Apart && o.Apart:
		return -1
	}
	if c := strings.Compare(m.Name, o.Name); c != 0 {
		return c
	}
	return strings.Compare(m.Cluster, o.Cluster)
}
