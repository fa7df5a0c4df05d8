package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/coredns-kuadrant/kuadrant/api/v1"
)

// DNSRecord publishes endpoints below one host name.
//
// +kubebuilder:resource
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Host",type=string,JSONPath=`.spec.rootHost`,description="Name that all endpoints lie at or below"
// +kubebuilder:printcolumn:name="Zone",type=string,JSONPath=`.spec.zoneID`,description="Zone that they are published in"
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`,description="Whether the endpoints are published"
// +kubebuilder:printcolumn:name="Healthy",type=string,JSONPath=`.status.conditions[?(@.type=="Healthy")].status`,description="Whether the endpoints are healthy"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type DNSRecord struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec   VersionedDNSRecordSpec `json:"spec"`
	Status DNSRecordStatus        `json:"status,omitempty"`
}

// VersionedDNSRecordSpec is what the owner wants.
//
// +kubebuilder:validation:XValidation:rule="has(self.rootHost)",message="rootHost is required: write the name that all endpoints lie at or below"
type VersionedDNSRecordSpec struct {
	DNSRecordSpec `json:",inline"`
}

// DNSRecordSpec is what both versions have.
//
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.zoneID) || size(oldSelf.zoneID) == 0 || (has(self.zoneID) && self.zoneID == oldSelf.zoneID)",message="zoneID cannot change once it is set: to change it, delete the record and create it again"
type DNSRecordSpec struct {
	// rootHost is the name that all endpoints lie at or below; its first label may be
	// *. Without it, one of the endpoints must have that name.
	RootHost v1.DomainName `json:"rootHost,omitempty"`

	// providerRef names the provider that the endpoints are published with.
	ProviderRef *v1.ProviderReference `json:"providerRef,omitempty"`

	// zoneID is the provider's zone: for a Secret, the name of the zone that is
	// served here. It is immutable.
	// +kubebuilder:validation:MaxLength=253
	ZoneID string `json:"zoneID,omitempty"`

	// endpoints are the names with their data.
	// +kubebuilder:validation:MaxItems=1000
	// +listType=atomic
	Endpoints []Endpoint `json:"endpoints,omitempty"`

	// healthCheck makes every address be probed; those that are down are not answered
	// while others are up.
	HealthCheck *v1.HealthCheck `json:"healthCheck,omitempty"`

	// ownerID is accepted and has no effect.
	// +kubebuilder:validation:MaxLength=253
	OwnerID string `json:"ownerID,omitempty"`

	// delegate is accepted and has no effect.
	Delegate *bool `json:"delegate,omitempty"`
}

// Endpoint is a name with its data, in the form of external-dns.
type Endpoint struct {
	// dnsName is the name, with or without a final dot.
	// +required
	DNSName v1.DomainName `json:"dnsName"`

	// recordType such as A, AAAA or CNAME.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	RecordType string `json:"recordType"`

	// targets are the data: addresses, names, or the form of a zone file.
	// +required
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=1000
	// +kubebuilder:validation:items:MinLength=1
	// +listType=atomic
	Targets []string `json:"targets"`

	// recordTTL in seconds; the zone's default if it is 0 or not set.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=2147483647
	RecordTTL int64 `json:"recordTTL,omitempty"`

	// setIdentifier tells the endpoints of one name and type apart.
	SetIdentifier string `json:"setIdentifier,omitempty"`

	// labels are accepted and have no effect.
	Labels map[string]string `json:"labels,omitempty"`

	// providerSpecific has weight, a whole number; geo-code, such as GEO-EU or
	// IE, or * for clients that match no other; priority and what else
	// docs/steering.md has. What is wrong with them is reported in the status.
	// +listType=atomic
	ProviderSpecific []ProviderSpecificProperty `json:"providerSpecific,omitempty"`
}

// ProviderSpecificProperty is a name and a text.
type ProviderSpecificProperty struct {
	Name  string `json:"name,omitempty"`
	Value string `json:"value,omitempty"`
}

// DNSRecordStatus is what became of the record. Other controllers that publish records
// keep more in it.
//
// +kubebuilder:pruning:PreserveUnknownFields
type DNSRecordStatus struct {
	// conditions are Ready and Healthy.
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// observedGeneration is the generation that the status is about.
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// endpoints are those that are published now. Their providerSpecific says how
	// healthy they are, and the weight that they have because of that.
	// +kubebuilder:validation:MaxItems=1000
	// +listType=atomic
	Endpoints []Endpoint `json:"endpoints,omitempty"`
}
