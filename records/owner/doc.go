// Package owner decides whose a name is: who contends for a host → its owner, those that share it with the owner, and those
// that lose it to them (rules 5.3 to 5.7).
//
//	owner.go       contenders for a host → who is served, and who loses it to whom
//	registry.go    who had a host before: it goes first, and its namespace follows   rule 5.4
//	unread.go      lines of the registry whose objects cannot be read → contenders that are SERVFAIL   rules 5.4 and 7.4
//	records.go     the Records at a name → contenders, one for each namespace   rule 5.3
//	claim.go       what keeps a name for one namespace: a wildcard above it, the name above _ labels, a delegation   rules 5.1, 5.3 and 5.9
//
// All of it is pure, and knows neither zones nor answers.
package owner
