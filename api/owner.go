package api

// Owner names the object that has acquired a name (rule 5.4): all Records of one Zone are
// that Zone.
type Owner struct {
	Cluster string
	Kind    Kind
	Name    string // namespace/name
	// UID is that of the object; "" where it is not known, and any will do.
	UID string
}

// Is tells whether the object is the owner.
func (o Owner) Is(kind Kind, m *Meta) bool {
	return o.Kind == kind && o.Cluster == m.Cluster && o.Name == m.Name && (o.UID == "" || m.UID == "" || o.UID == m.UID)
}
