package api

// Gateway is what is kept of a gateway.networking.k8s.io Gateway.
type Gateway struct {
	Meta
	Listeners []Listener `json:"listeners"`
	Addresses []Address  `json:"addresses"`
	// Programmed is the status of the condition of that name.
	Programmed ConditionStatus `json:"programmed"`
}

// Listener is one listener of a Gateway, with its entry in the status.
type Listener struct {
	Name string `json:"name"`
	// Hostname is as written: in any case, with "*." in front for a wildcard, "" for none.
	Hostname string `json:"hostname"`
	// AttachedRoutes is the number in the status; UnknownRoutes if the status has no entry for the
	// listener.
	AttachedRoutes int32 `json:"attachedRoutes"`
	// Port is 0 if it cannot be read.
	Port     uint16           `json:"port"`
	Protocol ListenerProtocol `json:"protocol"`
}

// ListenerProtocol is what a listener speaks, as far as TCP clients care.
type ListenerProtocol uint8

// The protocols. UDP, and unreadable ones, are NotTCP; HTTPS is TLS; HTTP, TCP and implementations'
// own protocols are Plain.
const (
	NotTCP ListenerProtocol = iota
	Plain
	TLS
)

// String returns the protocol in lower case.
func (p ListenerProtocol) String() string { return [...]string{"not tcp", "plain", "tls"}[p] }

// UnknownRoutes is for a listener without a status entry: unknown is not zero (rule 1.2).
const UnknownRoutes int32 = -1

// AddressType is the type of a Gateway's status address.
type AddressType string

// The types that are read; an address without a type is an IPAddress.
const (
	IPAddress                   AddressType = "IPAddress"
	HostnameAddress             AddressType = "Hostname"
	MultiClusterIPAddress       AddressType = "kuadrant.io/MultiClusterIPAddress"
	MultiClusterHostnameAddress AddressType = "kuadrant.io/MultiClusterHostnameAddress"
)

// Address is one entry of status.addresses, its value as written.
type Address struct {
	Type  AddressType `json:"type"`
	Value string      `json:"value"`
}

// The annotations of a Gateway that list what is published in place of its status (rule 9.6), in the form of external-dns: addresses and
// hostnames with commas between them. The first that lists something counts.
const (
	AnnotationTarget      = "external-dns.kubernetes.io/target"
	AnnotationTargetAlpha = "external-dns.alpha.kubernetes.io/target"
)

// ConditionStatus is the status of a condition.
type ConditionStatus uint8

// The statuses; ConditionUnknown is also that of a missing condition.
const (
	ConditionUnknown ConditionStatus = iota
	ConditionTrue
	ConditionFalse
)

// String returns the status as Kubernetes writes it.
func (s ConditionStatus) String() string {
	switch s {
	case ConditionTrue:
		return "True"
	case ConditionFalse:
		return "False"
	}
	return "Unknown"
}
