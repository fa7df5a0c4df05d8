// Package health decides which targets work: it runs checks (Prober) and keeps
// what they find where queries read it (Cell).
//
//	cell.go     what is known of one target, and how a check changes it
//	check.go    what is checked, and by which terms
//	outcome.go  how a check can end: a fixed list of reasons
//	guard.go    where checks may go
//	prober.go   who is checked when
//	probe.go    one check: addresses, TCP and HTTPS
//	http1.go    one check over HTTP without TLS
//	grpc.go     one check of grpc.health.v1
package health
