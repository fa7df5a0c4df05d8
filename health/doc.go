// Package health decides which targets work: it runs checks (Prober) and keeps
// what they find where queries read it (Cell).
//
//	cell.go     what is known of one target, and how a check changes it
//	check.go    what is checked, and by which terms
//	outcome.go  how a check can end: a fixed list of reasons
//	guard.go    where checks may go
//	hosts.go    the addresses of hosts that they may not go to
//	prober.go   who is checked when
//	schedule.go when one target is checked next
//	queue.go    in which order, and how many in a second
//	limit_*.go  how many file descriptors there are
//	hostname.go one check of several addresses
//	probe.go    one check of one address
//	web.go      one check over HTTP, and what net/http is given to connect with
//	grpc.go     one check of grpc.health.v1
package health
