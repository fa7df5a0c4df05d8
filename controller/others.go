package controller

import "slices"

// otherManagers are the field managers of controllers that write the same objects: those of
// Kuadrant's operators are called after their binary.
var otherManagers = []string{"manager", "kuadrant-operator", "dns-operator"}

// isOther tells whether a field manager is that of a controller that writes what we would.
func isOther(manager string) bool { return slices.Contains(otherManagers, manager) }

// others is what is known of other controllers that are at work in the cluster.
type others struct{}

// atWork names the controller that is at work; "" for none.
func (o *others) atWork() string { return "" }
