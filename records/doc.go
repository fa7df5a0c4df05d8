// Package records turns objects into answers.
//
// Compile makes an immutable Snapshot out of everything the sources know;
// Snapshot.Lookup answers one query from it. The package is pure: it reads no
// clock, does no I/O, writes no log and starts no goroutine. Time and
// randomness are handed in.
//
// The way from an object to an answer, one file each:
//
//	compile.go    the way as a whole, from the snapshot before to the next
//	changes.go    what changed → the Gateways and hosts that it concerns
//	attach.go     Gateway and policies → claims on hosts        rule 1
//	address.go    status addresses → targets of a claim         rule 1.3
//	weight.go     weight and geo code of a claim's targets      rule 2.5
//	owners.go     claims → owners and losers                    rules 5.3 to 5.7
//	build.go      owners → names with their data                rules 1.5, 1.7 and 2.2
//	chain.go      the names and members of a weightedGeo host   rules 2.3 and 2.4
//	fill.go       members → a pool of them
//	unite.go      members that come to one name → what they say together   rule 1.3
//	vitals.go     names → what tells which of their addresses work   rules 4.2 and 4.5
//	probes.go     DNSHealthCheckProbes → the names whose checks they join   rule 4.10
//	headers.go    Secrets → the headers that checks send             rule 4.10
//	overrides.go  the operator's file → what it concerns             rule 4.5
//	checks.go     names → the targets to check, with their cells     rule 4.7
//	users.go      who has a target checked
//	healthy.go    cells → a policy's status at the moment, and what fails open   rules 4.6 and 4.8
//	zone.go       names → zones, with empty non-terminals       RFC 4592
//	serial.go     zone content → hash and serial                rule 6.7
//	journal.go    two versions of a zone → what differs         rule 7.5
//	transfer.go   zone → what a secondary gets                  rule 7.5
//	report.go     what became of each policy: which verdicts changed
//	verdict.go    what became of each policy: its conditions    api.md, DNSPolicy
//	lookup.go     query → answer                                rule 7
//	chase.go      answer → its end: along CNAMEs, and flat where none may stand
//	signing.go    answer → one that can be signed                rule 7.6
//	pool.go       the choice among the members of one name      rule 4.6
package records
