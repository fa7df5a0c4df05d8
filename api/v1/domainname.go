package v1

// DomainName is a name, with or without a final dot. A character that means something
// else in a zone file is written as \ and three digits.
//
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=254
// +kubebuilder:validation:Pattern=`^((([!#-'*-\-/-:<-?A-\[\]-~]|\\[0-9]{3}|\\[^0-9]){1,63}\.)*([!#-'*-\-/-:<-?A-\[\]-~]|\\[0-9]{3}|\\[^0-9]){1,63}\.?|\.)$`
type DomainName string
