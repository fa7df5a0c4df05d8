package v1

// HealthCheck is how the addresses of a host are probed.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.path) && has(self.endpoint)) || self.path == self.endpoint",message="path and endpoint mean the same and differ: keep one of them"
type HealthCheck struct {
	Check `json:",inline"`

	// endpoint means the same as path.
	Endpoint ProbePath `json:"endpoint,omitempty"`

	// host is sent in the Host header and in the TLS handshake; the listener's
	// host if it is not set. A wildcard host is probed only where it is set.
	Host ProbeHost `json:"host,omitempty"`
}

// Check is what a policy and a DNSHealthCheckProbe say alike about a probe.
//
// +kubebuilder:validation:XValidation:rule="!has(self.timeout) || duration(self.timeout) <= (has(self.interval) ? duration(self.interval) : duration('5m'))",message="timeout must not be longer than interval, which is 5m if it is not set"
type Check struct {
	// protocol is HTTPS if it is not set. GRPC is the standard health service
	// grpc.health.v1.
	// +kubebuilder:validation:Enum=HTTP;HTTPS;TCP;GRPC
	Protocol string `json:"protocol,omitempty"`

	// port to connect to; 443 if it is not set, and 80 with protocol HTTP.
	// +kubebuilder:validation:XValidation:rule="self in [80, 443] || (self >= 1024 && self <= 49151)",message="Only ports 80, 443, 1024-49151 are allowed"
	Port *int32 `json:"port,omitempty"`

	// path to ask for; / if it is not set.
	Path ProbePath `json:"path,omitempty"`

	// interval between two checks of one address; 5m if it is not set, and 30s
	// in a policy with routingStrategy.
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1s') && duration(self) <= duration('24h')",message="interval must be from 1s to 24h"
	Interval Duration `json:"interval,omitempty"`

	// timeout of one check, at most the interval; 5s if it is not set.
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('10ms') && duration(self) <= duration('30s')",message="timeout must be from 10ms to 30s"
	Timeout Duration `json:"timeout,omitempty"`

	// failureThreshold is how many checks in a row must fail until the address is
	// down; 5 if it is not set.
	// +kubebuilder:validation:XValidation:rule="self > 0",message="Failure threshold must be greater than 0"
	// +kubebuilder:validation:Maximum=1000
	FailureThreshold *int32 `json:"failureThreshold,omitempty"`

	// successThreshold is how many checks in a row must succeed until an address
	// that is down is up again; 1 if it is not set.
	// +kubebuilder:validation:XValidation:rule="self > 0",message="Success threshold must be greater than 0"
	// +kubebuilder:validation:Maximum=1000
	SuccessThreshold *int32 `json:"successThreshold,omitempty"`

	// expectedResponses are the HTTP status codes of a healthy address; 200 and 201
	// if it is not set.
	// +kubebuilder:validation:MaxItems=500
	// +kubebuilder:validation:items:Minimum=100
	// +kubebuilder:validation:items:Maximum=599
	// +listType=atomic
	ExpectedResponses []int32 `json:"expectedResponses,omitempty"`

	// allowInsecureCertificate makes a check succeed whatever certificate the
	// address shows.
	AllowInsecureCertificate bool `json:"allowInsecureCertificate,omitempty"`

	// additionalHeadersRef names a Secret, in the same namespace and with the label
	// kuadrant.io/probe-headers: "true", whose entries are sent as headers.
	AdditionalHeadersRef *SecretReference `json:"additionalHeadersRef,omitempty"`
}

// ProbePath is /, or a path or a query that starts with "/" or "?" and ends with a
// letter, a digit or "/".
//
// +kubebuilder:validation:MaxLength=2048
// +kubebuilder:validation:XValidation:rule=`self == "/" || self.matches(r"^[/?][\w\-.~:/?#\[\]@!$&'()*+,;=]+[a-zA-Z0-9/]$")`,message="a path must be /, or start with / or ?, contain only URL characters, end with a letter, a digit or /, and have at least three characters"
type ProbePath string

// ProbeHost is a host name, without port and wildcard.
//
// +kubebuilder:validation:MaxLength=253
// +kubebuilder:validation:XValidation:rule=`self.matches(r"^([A-Za-z0-9_-]{1,63}\.)*[A-Za-z0-9_-]{1,63}\.?$")`,message="host must be a name such as app.example.com"
type ProbeHost string

// Duration is a time such as 30s or 1m30s.
//
// +kubebuilder:validation:MaxLength=32
// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`
type Duration string
