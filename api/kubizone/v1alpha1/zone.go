package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/coredns-kuadrant/kuadrant/api/v1"
)

// Zone is a part of the DNS with an SOA of its own, and says who may publish in it.
//
// +kubebuilder:resource
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="fqdn",type=string,JSONPath=`.status.fqdn`,description="Name of the zone"
// +kubebuilder:printcolumn:name="serial",type=integer,JSONPath=`.status.serial`,description="Serial that was published last"
// +kubebuilder:printcolumn:name="parent",type=string,JSONPath=`.metadata.labels.kubi\.zone/parent-zone`,description="Zone that it lies in"
// +kubebuilder:printcolumn:name="ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`,description="Whether the zone is served"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type Zone struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec   ZoneSpec   `json:"spec"`
	Status ZoneStatus `json:"status,omitempty"`
}

// ZoneSpec is what the owner wants.
//
// +kubebuilder:validation:XValidation:rule="self.domainName != '@'",message="domainName is @: a zone has a name of its own below its parent"
type ZoneSpec struct {
	Place `json:",inline"`

	// delegations say who may publish what in the zone; without any, nobody may.
	// +listType=atomic
	Delegations []Delegation `json:"delegations,omitempty"`

	// ttl in seconds of the SOA, and of records that have none; 360 if it is not set.
	TTL *Seconds `json:"ttl,omitempty"`

	// refresh is after how many seconds secondary servers look for changes; 86400 if it
	// is not set.
	Refresh *Seconds `json:"refresh,omitempty"`

	// retry is after how many seconds they look again where that has failed; 7200 if it
	// is not set.
	Retry *Seconds `json:"retry,omitempty"`

	// expire is after how many seconds without an answer they stop answering; 3600000
	// if it is not set.
	Expire *Seconds `json:"expire,omitempty"`

	// negativeResponseCache is for how many seconds it may be remembered that a name
	// does not exist; 360 if it is not set. A ttl that is smaller counts.
	NegativeResponseCache *Seconds `json:"negativeResponseCache,omitempty"`

	// mname is the primary name server in the SOA; the first of the zone's NS records
	// if it is not set.
	MName v1.DomainName `json:"mname,omitempty"`

	// rname is the mailbox in the SOA, with a dot in place of the @; the
	// Corefile's, else hostmaster.<zone> if it is not set.
	RName v1.DomainName `json:"rname,omitempty"`
}

// Place is where a Zone or a Record lies.
//
// +kubebuilder:validation:XValidation:rule=`self.domainName.matches(r"(^|[^\\])(\\\\)*\.$") != has(self.zoneRef)`,message="write a domainName that ends in a dot or a zoneRef that it lies below, and not both"
type Place struct {
	// domainName is absolute where it ends in a dot. Otherwise it lies below the zone
	// that zoneRef names; @ is that zone's own name.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1020
	DomainName string `json:"domainName"`

	// zoneRef names the Zone that domainName is relative to.
	ZoneRef *ZoneReference `json:"zoneRef,omitempty"`
}

// ZoneReference names a Zone.
type ZoneReference struct {
	// +required
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	Name string `json:"name"`
	// namespace of the Zone; the object's own if it is not set.
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9]*[a-z0-9])?)?$`
	Namespace string `json:"namespace,omitempty"`
}

// Seconds is a time.
//
// +kubebuilder:validation:Minimum=0
// +kubebuilder:validation:Maximum=2147483647
type Seconds int64

// Delegation lets objects publish in the zone. Its patterns are relative to the zone. A
// leading * stands for one label or more, and a * inside a label for any characters of
// it.
type Delegation struct {
	// namespaces are those whose objects may; all of them if it is empty.
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:items:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	// +listType=atomic
	Namespaces []string `json:"namespaces,omitempty"`

	// zones are patterns of the zones below that they may have.
	// +listType=atomic
	Zones []Pattern `json:"zones,omitempty"`

	// records are those that they may have.
	// +listType=atomic
	Records []RecordDelegation `json:"records,omitempty"`
}

// RecordDelegation lets records be published.
type RecordDelegation struct {
	// pattern of their names; @ is the zone's own name.
	// +required
	Pattern Pattern `json:"pattern"`

	// types of the records, such as A; all of them if it is empty.
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=32
	// +listType=atomic
	Types []string `json:"types,omitempty"`
}

// Pattern is a pattern of names.
//
// +kubebuilder:validation:MaxLength=253
// +kubebuilder:validation:Pattern=`^((([!#-'*-\-/-:<-?A-\[\]-~]|\\[0-9]{3}|\\[^0-9]){1,63}\.)*([!#-'*-\-/-:<-?A-\[\]-~]|\\[0-9]{3}|\\[^0-9]){1,63}|@)$`
type Pattern string

// ZoneStatus is what became of the zone.
type ZoneStatus struct {
	// fqdn is the zone's name, with a final dot.
	FQDN string `json:"fqdn,omitempty"`

	// serial of the SOA that was published last.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=4294967295
	Serial int64 `json:"serial,omitempty"`

	// hash of what was published with it.
	Hash string `json:"hash,omitempty"`

	// entries are the zone's records, the SOA first: all of them, or the first 1000.
	// +kubebuilder:validation:MaxItems=1000
	// +listType=atomic
	Entries []Entry `json:"entries,omitempty"`

	// conditions of the zone: Ready says whether it is served.
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// Entry is one record of a zone.
type Entry struct {
	// +required
	FQDN string `json:"fqdn"`
	// +required
	Type string `json:"type"`
	// +required
	Class string `json:"class"`
	// +required
	TTL Seconds `json:"ttl"`
	// +required
	RData string `json:"rdata"`
}
