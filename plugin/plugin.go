// Package plugin compiles the plugins of our CoreDNS: all of stock CoreDNS's,
// so that the image can replace a cluster's DNS, and kuadrant.
package plugin

import (
	"slices"

	"github.com/coredns/coredns/core/dnsserver"
	_ "github.com/coredns/coredns/core/plugin" // the stock plugins

	_ "github.com/coredns-kuadrant/kuadrant"
)

// predecessor is the plugin that kuadrant comes after in the chain: transfer
// asks it for zones, and whatever holds data of its own comes later.
const predecessor = "transfer"

func init() {
	at := slices.Index(dnsserver.Directives, predecessor) + 1
	dnsserver.Directives = slices.Insert(slices.Clone(dnsserver.Directives), at, "kuadrant")
}
