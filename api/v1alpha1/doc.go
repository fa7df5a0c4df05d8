// Package v1alpha1 holds the schema of kuadrant.io/v1alpha1, from which
// config/crd is generated.
//
// +groupName=kuadrant.io
// +versionName=v1alpha1
// +kubebuilder:validation:Optional
package v1alpha1
