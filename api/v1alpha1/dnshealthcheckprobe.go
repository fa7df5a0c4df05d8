package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/coredns-kuadrant/kuadrant/api/v1"
)

// DNSHealthCheckProbe probes one address, and says in its status what came of
// it.
//
// +kubebuilder:resource
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Address",type=string,JSONPath=`.spec.address`,description="What is probed"
// +kubebuilder:printcolumn:name="Hostname",type=string,JSONPath=`.spec.hostname`,description="Host that is asked for, as this server writes it"
// +kubebuilder:printcolumn:name="Host",type=string,JSONPath=`.spec.host`,description="Host that is asked for",priority=2
// +kubebuilder:printcolumn:name="Port",type=integer,JSONPath=`.spec.port`,description="Port that is asked"
// +kubebuilder:printcolumn:name="Protocol",type=string,JSONPath=`.spec.protocol`,description="How it is asked"
// +kubebuilder:printcolumn:name="Healthy",type=boolean,JSONPath=`.status.healthy`,description="Whether the address is healthy"
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.reason`,description="Why it is not"
// +kubebuilder:printcolumn:name="Failures",type=integer,JSONPath=`.status.consecutiveFailures`,description="Checks in a row that failed, when that was written",priority=2
// +kubebuilder:printcolumn:name="Checked",type=date,JSONPath=`.status.lastCheck`,description="When the state was found out",priority=2
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type DNSHealthCheckProbe struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec   DNSHealthCheckProbeSpec   `json:"spec"`
	Status DNSHealthCheckProbeStatus `json:"status,omitempty"`
}

// DNSHealthCheckProbeSpec is what the owner wants.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.host) && has(self.hostname)) || self.host == self.hostname",message="host and hostname mean the same and differ: keep one of them"
type DNSHealthCheckProbeSpec struct {
	v1.Check `json:",inline"`

	// address to connect to: an IP address, or a host name that is resolved at each
	// check.
	// +required
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule=`isIP(self) || self.matches(r"^([A-Za-z0-9_-]{1,63}\.)*[A-Za-z0-9_-]*[A-Za-z_-][A-Za-z0-9_-]*\.?$")`,message="address must be an IP address such as 192.0.2.1, or a name such as lb.example.com"
	Address string `json:"address"`

	// host is sent in the Host header and in the TLS handshake; the address if it is
	// not set.
	Host v1.ProbeHost `json:"host,omitempty"`

	// hostname means the same as host.
	Hostname v1.ProbeHost `json:"hostname,omitempty"`
}

// DNSHealthCheckProbeStatus is what came of the checks.
type DNSHealthCheckProbeStatus struct {
	// healthy reports whether the address is; it is not set before that is decided.
	Healthy *bool `json:"healthy,omitempty"`

	// consecutiveFailures is how many checks in a row have failed; 0 after one that
	// succeeded.
	ConsecutiveFailures int32 `json:"consecutiveFailures,omitempty"`

	// reason says why the last check failed.
	Reason string `json:"reason,omitempty"`

	// status is the HTTP status code of the last answer.
	Status int32 `json:"status,omitempty"`

	// lastCheck is when the status was found out.
	LastCheck *metav1.Time `json:"lastCheck,omitempty"`

	// observedGeneration is the generation that the status is about.
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
}
