package kuadrant

import (
	"testing"

	"github.com/coredns-kuadrant/kuadrant/internal/boottest"
	"github.com/coredns-kuadrant/kuadrant/internal/peertest"
)

// What the tests below test/ use too.
var (
	writeFile, boot, waitFor                 = boottest.WriteFile, boottest.Start, boottest.WaitFor
	question, exchange, firstA, withSubnet   = boottest.Question, boottest.Exchange, boottest.FirstA, boottest.WithSubnet
	gatewayFile, answersOf, newKey, gathered = boottest.GatewayFile, boottest.Answers, boottest.NewKey, boottest.Gathered
	xfr, axfrOf, ixfrOf, textOf              = boottest.Transfer, boottest.AXFR, boottest.IXFR, boottest.TextOf
	wholeZone, applyIXFR, notified, take     = boottest.WholeZone, boottest.ApplyIXFR, boottest.Notified, boottest.Take
)

// freePort returns a port of 127.0.0.1 that is free for UDP and TCP, another one each time.
func freePort(t testing.TB) int { return peertest.FreePort(t) }
