// Command coredns is CoreDNS with the kuadrant plugin and all stock plugins.
package main

import (
	"github.com/coredns/coredns/coremain"

	_ "github.com/coredns-kuadrant/kuadrant/plugin"
)

func main() { coremain.Run() }
