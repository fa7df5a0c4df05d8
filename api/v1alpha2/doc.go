// Package v1alpha2 holds the schema of kuadrant.io/v1alpha2, from which
// config/crd is generated. The fields are those of v1, for the reason given
// there; this version asks for more of them.
//
// +groupName=kuadrant.io
// +versionName=v1alpha2
// +kubebuilder:validation:Optional
package v1alpha2
