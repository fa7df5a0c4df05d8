// Package zone makes zones of names: what stands at each → RRsets, with cuts, glue and empty non-terminals; the serial of each
// version, and what differs from one to the next.
//
//	set.go         RRsets
//	zone.go        a zone and its nodes
//	edit.go        the edit that makes its next version, with empty non-terminals   RFC 4592
//	node.go        what a node is to those who look at it
//	settle.go      what has changed in an edit → the RRsets there
//	rrset.go       the Records of one name → RRsets
//	coexist.go     which Records of one name stand beside each other and its other data   rule 5.3
//	fitting.go     the Records of one RRset → those that a message can hold   rule 8.1
//	loss.go        the Records that lose → why, for their owners
//	claims.go      who keeps a name, or a part of its data, to itself   rules 5.1, 5.3 and 5.9
//	bound.go       which names have something that claims of others may keep out
//	uncovered.go   names that a wildcard does not answer for, because they exist   rule 5.3
//	owner_txt.go   owners → TXT records that name them   rule 5.8
//	apex.go        what the Corefile puts into a zone: its name servers   rule 6.8
//	cuts.go        what a zone holds of those below it: NS and glue   rule 6.6
//	finish.go      an edit → the next version of the zone   rule 6.7
//	serial.go      content → hash and serial   rule 6.7
//	publisher.go   the published version of a zone with a writer   rule 6.7
//	journal.go     two versions → what differs   rule 7.5
//	transfer.go    zone → what a secondary gets   rule 7.5
//	search.go      name → its node, a wildcard, a cut or a DNAME; addresses that go with an answer   rule 7.1
//	hidden.go      what lies below NS records and DNAMEs   rule 8.1
//	types.go       the types at a name, for denials and lists   rule 7.6
//
// A Zone is immutable once Finish has returned it; any number of goroutines may read it. One goroutine at a time makes edits.
package zone
