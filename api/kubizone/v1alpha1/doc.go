// Package v1alpha1 holds the schema of kubi.zone/v1alpha1, from which config/crd is
// generated. Its types say what the API server accepts; what the objects mean is
// decided by the package api, which reads them.
//
// There are no defaults: clusters that have these kinds from elsewhere have others.
//
// +groupName=kubi.zone
// +versionName=v1alpha1
// +kubebuilder:validation:Optional
package v1alpha1
