// Package pool makes the endpoints of a name's owners what the name is answered with: one set of addresses, or a choice among
// members by geography, weight and health (rules 2 to 4). It knows what may be answered, and neither zones nor snapshots.
//
// From endpoints to a choice, by a Builder:
//
//	builder.go   what is there while names are made: the tree of a host, its chain, its options
//	build.go     owners → names with their data   rules 1.5, 1.7, 2.2 and 2.8
//	groups.go    owners → those in clusters of active groups   rule 9.5
//	tree.go      owners → their names on H' and *.H' and in the chain
//	owned.go     endpoints that come together at a name → those that count, each once   rules 1.7 and 5.6
//	shape.go     a tree → the chain of rule 2.3, if all of it fits   rule 6.10
//	ends.go      endpoints at a name → what they lead to
//	choice.go    what a name, or a chain, leads to → groups and members   rule 2.4
//	names.go     a tree → the data of its names: a pool, or each by itself   rules 2.3, 2.4 and 6.10
//	unite.go     addresses that come to one name → what they say together   rules 1.3 and 4.5
//	checked.go   owners → the cells that say which of their addresses work, and what is checked   rules 4.2 and 4.5
//	probes.go    DNSHealthCheckProbes → the checks that they join   rule 4.10
//	headers.go   Secrets → the headers that checks send   rule 4.10
//	checks.go    names → the targets to check, with their cells   rule 4.7
//	users.go     who has a target checked
//
// From a query to a member:
//
//	steered.go   the data of a name, and whose they are
//	set.go       addresses without a choice
//	view.go      a name's view of a choice   rule 2.4
//	family.go    the types of answers
//	pool.go      members, groups and the bounds of a choice   rule 4.6
//	member.go    what leads to one member, and its answers
//	cells.go     what is known of an address   rule 4.5
//	class.go     how good a member is   rule 4.6
//	order.go     the steps of the choice, each a strategy   rule 4.6
//	geo.go       how near a group is   rule 3
//	weight.go    the draw   rule 4.6
//	sticky.go    the draw that a client's network keeps   rule 9.2
//	window.go    some of many addresses   rule 9.4
//	transfer.go  what a secondary gets   rule 7.5
//	trail.go     how the choice came about, for Explain
package pool
