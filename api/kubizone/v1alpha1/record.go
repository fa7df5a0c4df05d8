package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Record is one record of a zone.
//
// +kubebuilder:resource
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="fqdn",type=string,JSONPath=`.status.fqdn`,description="Name of the record"
// +kubebuilder:printcolumn:name="type",type=string,JSONPath=`.spec.type`,description="Type of the record"
// +kubebuilder:printcolumn:name="data",type=string,JSONPath=`.spec.rdata`,description="Data of the record"
// +kubebuilder:printcolumn:name="parent",type=string,JSONPath=`.metadata.labels.kubi\.zone/parent-zone`,description="Zone that it lies in"
// +kubebuilder:printcolumn:name="ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`,description="Whether the record is served"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type Record struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec   RecordSpec   `json:"spec"`
	Status RecordStatus `json:"status,omitempty"`
}

// RecordSpec is what the owner wants.
type RecordSpec struct {
	Place `json:",inline"`

	// type such as A, or TYPE65280 for one without a name. SOA, DNSSEC's signatures and
	// proofs, and types that no data has are not served.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	Type string `json:"type"`

	// class is IN, or not set; no other is served.
	// +kubebuilder:validation:MaxLength=32
	Class string `json:"class,omitempty"`

	// ttl in seconds; the zone's if it is not set.
	TTL *Seconds `json:"ttl,omitempty"`

	// rdata is the data as in a zone file. Names in it that do not end in a dot lie in
	// the zone.
	// +required
	RData string `json:"rdata"`
}

// RecordStatus is what became of the record.
type RecordStatus struct {
	// fqdn is the record's name, with a final dot.
	FQDN string `json:"fqdn,omitempty"`

	// conditions of the record: Ready says whether it is served.
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}
