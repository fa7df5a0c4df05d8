package kuadrant

import (
	"testing"

	"github.com/coredns-kuadrant/kuadrant/internal/boottest"
	"github.com/coredns-kuadrant/kuadrant/internal/peertest"
)

// What the tests below test/ use too.
const (
	bootGateway    = boottest.Gateway
	clusterObjects = boottest.ClusterObjects
)

var (
	writeFile, unreachable                      = boottest.WriteFile, boottest.Unreachable
	boot, bootKube, bootAgain                   = boottest.Start, boottest.Kube, boottest.StartKube
	question, exchange, firstA, allA            = boottest.Question, boottest.Exchange, boottest.FirstA, boottest.AllA
	waitFor, asks, synced                       = boottest.WaitFor, boottest.Asks, boottest.Synced
	startedServer, kubeconfigFor, clusterSecret = boottest.APIServer, boottest.KubeconfigFor, boottest.ClusterSecret
	stands, unstructuredOf                      = boottest.Object, boottest.Ref
	gatewayAt, gatewayFile                      = boottest.GatewayAt, boottest.GatewayFile
	newTargets, checkedGateway, answersOf       = boottest.NewTargets, boottest.CheckedGateway, boottest.Answers
	keepAsking, needNamespace                   = boottest.KeepAsking, boottest.NeedNamespace
	comes, observed, statusText, merge          = boottest.Comes, boottest.Observed, boottest.StatusText, boottest.Merge
	serialOf                                    = boottest.SerialOf
	newKey, gathered                            = boottest.NewKey, boottest.Gathered
)

// freePort returns a port of 127.0.0.1 that is free for UDP and TCP, another one each time.
func freePort(t testing.TB) int { return peertest.FreePort(t) }

// journal collects the lines that CoreDNS logs for this plugin.
type journal struct{ *boottest.Journal }

func listen(t testing.TB) *journal { return &journal{boottest.Listen(t)} }

func (j *journal) has(level, text string) bool { return j.Has(level, text) }

func (j *journal) all() []string { return j.All() }
