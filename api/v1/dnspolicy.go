package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// DNSPolicy publishes the addresses of a Gateway under the host names of its
// listeners.
//
// +kubebuilder:resource
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:metadata:labels="gateway.networking.k8s.io/policy=direct"
// +kubebuilder:printcolumn:name="Accepted",type=string,JSONPath=`.status.conditions[?(@.type=="Accepted")].status`,description="Whether the policy is valid and has its Gateway"
// +kubebuilder:printcolumn:name="Enforced",type=string,JSONPath=`.status.conditions[?(@.type=="Enforced")].status`,description="Whether the policy's names are served"
// +kubebuilder:printcolumn:name="SubResourcesHealthy",type=string,JSONPath=`.status.conditions[?(@.type=="SubResourcesHealthy")].status`,description="Whether the policy's targets are healthy",priority=2
// +kubebuilder:printcolumn:name="TargetRefKind",type=string,JSONPath=`.spec.targetRef.kind`,description="Kind of the object that the policy is for",priority=2
// +kubebuilder:printcolumn:name="TargetRefName",type=string,JSONPath=`.spec.targetRef.name`,description="Name of the object that the policy is for"
// +kubebuilder:printcolumn:name="TargetSection",type=string,JSONPath=`.spec.targetRef.sectionName`,description="Listener that the policy is for",priority=2
// +kubebuilder:printcolumn:name="Records",type=integer,JSONPath=`.status.totalRecords`,description="How many host names are published"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type DNSPolicy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec   DNSPolicySpec   `json:"spec"`
	Status DNSPolicyStatus `json:"status,omitempty"`
}

// DNSPolicySpec is what the owner wants.
//
// +kubebuilder:validation:XValidation:rule="(has(self.delegate) && self.delegate) == (has(oldSelf.delegate) && oldSelf.delegate)",message="delegate is immutable: to change it, delete the policy and create it again"
// +kubebuilder:validation:XValidation:rule="!(has(self.delegate) && self.delegate && has(self.providerRefs) && size(self.providerRefs) > 0)",message="delegate=true and providerRefs are mutually exclusive: remove one of them"
// +kubebuilder:validation:XValidation:rule="[has(self.providerRefs) && size(self.providerRefs) > 0, has(self.providerRef), has(self.providerSelector)].filter(set, set).size() <= 1",message="providerRefs, providerRef and providerSelector exclude each other: keep one of them"
type DNSPolicySpec struct {
	// targetRef names the Gateway, in the policy's namespace, whose listeners the
	// policy is for.
	// +required
	TargetRef TargetReference `json:"targetRef"`

	// routingStrategy is how a host is answered: with all addresses (simple),
	// or with those of one Gateway, chosen by where the client is and by weight
	// (weightedGeo; loadbalanced means the same). Without it, a policy with
	// loadBalancing is weightedGeo and one without is simple.
	RoutingStrategy RoutingStrategy `json:"routingStrategy,omitempty"`

	// loadBalancing is used by the strategy weightedGeo.
	LoadBalancing *LoadBalancing `json:"loadBalancing,omitempty"`

	// healthCheck makes every address be probed; those that are down are not
	// answered while others are up.
	HealthCheck *HealthCheck `json:"healthCheck,omitempty"`

	// excludeAddresses are addresses of the Gateway that are not published: IP
	// addresses, CIDRs or host names.
	// +kubebuilder:validation:MaxItems=20
	// +kubebuilder:validation:items:MaxLength=253
	ExcludeAddresses []string `json:"excludeAddresses,omitempty"`

	// providerRefs names the provider Secret, in the policy's namespace.
	// +kubebuilder:validation:MaxItems=1
	ProviderRefs []SecretReference `json:"providerRefs,omitempty"`

	// providerRef names the provider.
	ProviderRef *ProviderReference `json:"providerRef,omitempty"`

	// providerSelector selects the provider Secrets, in the policy's namespace, by
	// their labels.
	ProviderSelector *metav1.LabelSelector `json:"providerSelector,omitempty"`

	// delegate has the policy yield a host to a DNSRecord of its namespace that
	// has the host. Without such a DNSRecord, the policy is served as any
	// other. It is immutable.
	Delegate *bool `json:"delegate,omitempty"`
}

// TargetReference names a Gateway or one of its listeners.
//
// +kubebuilder:validation:XValidation:rule="self.group == 'gateway.networking.k8s.io'",message="Invalid targetRef.group. The only supported value is 'gateway.networking.k8s.io'"
// +kubebuilder:validation:XValidation:rule="self.kind == 'Gateway'",message="Invalid targetRef.kind. The only supported values are 'Gateway'"
type TargetReference struct {
	// group is gateway.networking.k8s.io.
	// +required
	// +kubebuilder:validation:MaxLength=253
	Group string `json:"group"`
	// kind is Gateway.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind"`
	// name is the name of a Gateway in the policy's namespace.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// sectionName is the name of a listener. Without it the policy is for all
	// listeners that have no policy of their own.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	SectionName string `json:"sectionName,omitempty"`
}

// RoutingStrategy is how addresses are laid out under a host.
//
// +kubebuilder:validation:Enum=simple;weightedGeo;loadbalanced
type RoutingStrategy string

// SecretReference names a Secret in the policy's namespace.
type SecretReference struct {
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// ProviderReference names a DNS provider.
//
// +kubebuilder:validation:XValidation:rule="!has(self.kind) || self.kind != 'ManagedZone'",message="kind ManagedZone is no longer supported: refer to a Secret with the fields ZONE_ID and DOMAIN_NAME instead"
type ProviderReference struct {
	// name of the provider; an empty one refers to none.
	// +required
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// namespace of the provider; a Secret is in the policy's namespace.
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace,omitempty"`
	// kind of the provider: Secret, or without it. Any other kind is left to the
	// controller that knows it.
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind,omitempty"`
}

// DNSPolicyStatus is what became of the policy.
type DNSPolicyStatus struct {
	// conditions are Accepted, Enforced and SubResourcesHealthy.
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// observedGeneration is the generation that the status is about.
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// totalRecords is how many host names the policy publishes.
	// +optional
	TotalRecords int32 `json:"totalRecords"`

	// recordConditions are the conditions of single host names, by host, and of
	// provider Secrets, by secret/<name>.
	RecordConditions map[string][]metav1.Condition `json:"recordConditions,omitempty"`
}
