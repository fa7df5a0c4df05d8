package v1

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// LoadBalancing is how much a Gateway gets, and from where. A weight and a geo
// code can each be written in the form of either version.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.weight) && has(self.weighted) && has(self.weighted.defaultWeight)) || self.weight == self.weighted.defaultWeight",message="weight and weighted.defaultWeight mean the same and differ: keep one of them"
type LoadBalancing struct {
	// weight of the Gateway among those of the same host and geo code; 120
	// without it. 0 takes it out while others are there.
	Weight *Weight `json:"weight,omitempty"`

	// geo is either the Gateway's own code (GEO-<continent>, ISO 3166-1
	// country, ISO 3166-2 subdivision or AS<number>), or an object whose
	// defaultGeo is the code that serves the clients which match no other. Each
	// version gives it another type; a wrong one is reported in the status.
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	Geo json.RawMessage `json:"geo,omitempty"`

	// defaultGeo reports whether geo also serves clients that match no other
	// code.
	DefaultGeo *bool `json:"defaultGeo,omitempty"`

	// weighted gives Gateways different weights.
	Weighted *Weighted `json:"weighted,omitempty"`
}

// Weight is a share: a member with twice the weight gets twice the clients.
//
// +kubebuilder:validation:Minimum=0
// +kubebuilder:validation:Maximum=2147483647
type Weight int64

// Weighted gives Gateways weights by their labels.
type Weighted struct {
	// defaultWeight is for Gateways that no entry of custom is for; 120 without it.
	DefaultWeight *Weight `json:"defaultWeight,omitempty"`

	// custom gives weights by label; the first entry that matches counts.
	// +kubebuilder:validation:MaxItems=100
	// +listType=atomic
	Custom []CustomWeight `json:"custom,omitempty"`
}

// CustomWeight is the weight of the Gateways with certain labels.
//
// +kubebuilder:validation:XValidation:rule="has(self.selector) != has(self.value)",message="set either selector, for the labels of the Gateway, or value"
type CustomWeight struct {
	// selector is matched with the labels of the Gateway.
	Selector *metav1.LabelSelector `json:"selector,omitempty"`

	// value is compared with the Gateway's label
	// kuadrant.io/lb-attribute-custom-weight.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Value string `json:"value,omitempty"`

	// +required
	Weight Weight `json:"weight"`
}
