// Package v1 holds the schema of kuadrant.io/v1, from which config/crd is
// generated. Its types say what the API server accepts; what the objects mean is
// decided by the package api, which reads them.
//
// The schema is a union of what v1 and v1alpha2 have, in both versions and
// without defaults: objects are stored once and not converted, and pruning must
// not lose what another version can hold.
//
// +groupName=kuadrant.io
// +versionName=v1
// +kubebuilder:validation:Optional
package v1

//go:generate go tool -C ../.. -modfile=tools/go.tool.mod controller-gen crd paths=./api/v1 paths=./api/v1alpha1 paths=./api/v1alpha2 paths=./api/kubizone/v1alpha1 output:crd:artifacts:config=config/crd
