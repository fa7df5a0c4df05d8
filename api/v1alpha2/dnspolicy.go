package v1alpha2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/coredns-kuadrant/kuadrant/api/v1"
)

// DNSPolicy publishes the addresses of a Gateway under the host names of its
// listeners.
//
// +kubebuilder:resource
// +kubebuilder:subresource:status
// +kubebuilder:metadata:labels="gateway.networking.k8s.io/policy=direct"
// +kubebuilder:printcolumn:name="Accepted",type=string,JSONPath=`.status.conditions[?(@.type=="Accepted")].status`,description="Whether the policy is valid and has its Gateway"
// +kubebuilder:printcolumn:name="Enforced",type=string,JSONPath=`.status.conditions[?(@.type=="Enforced")].status`,description="Whether the policy's names are served"
// +kubebuilder:printcolumn:name="SubResourcesHealthy",type=string,JSONPath=`.status.conditions[?(@.type=="SubResourcesHealthy")].status`,description="Whether the policy's targets are healthy",priority=2
// +kubebuilder:printcolumn:name="Strategy",type=string,JSONPath=`.spec.routingStrategy`,description="How the addresses are laid out under a host",priority=2
// +kubebuilder:printcolumn:name="TargetRefKind",type=string,JSONPath=`.spec.targetRef.kind`,description="Kind of the object that the policy is for",priority=2
// +kubebuilder:printcolumn:name="TargetRefName",type=string,JSONPath=`.spec.targetRef.name`,description="Name of the object that the policy is for"
// +kubebuilder:printcolumn:name="TargetSection",type=string,JSONPath=`.spec.targetRef.sectionName`,description="Listener that the policy is for",priority=2
// +kubebuilder:printcolumn:name="Records",type=integer,JSONPath=`.status.totalRecords`,description="How many host names are published"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type DNSPolicy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec   DNSPolicySpec      `json:"spec"`
	Status v1.DNSPolicyStatus `json:"status,omitempty"`
}

// DNSPolicySpec is what the owner wants.
//
// +kubebuilder:validation:XValidation:rule="has(self.routingStrategy)",message="routingStrategy is required: write simple or weightedGeo"
// +kubebuilder:validation:XValidation:rule="has(self.providerRef) || has(self.providerSelector)",message="providerRef or providerSelector is required: name the provider's Secret, or select Secrets by label"
type DNSPolicySpec struct {
	v1.DNSPolicySpec `json:",inline"`
}
