package v1alpha2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/coredns-kuadrant/kuadrant/api/v1alpha1"
)

// DNSRecord publishes endpoints below one host name.
//
// +kubebuilder:resource
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
	Spec   v1alpha1.DNSRecordSpec   `json:"spec"`
	Status v1alpha1.DNSRecordStatus `json:"status,omitempty"`
}
