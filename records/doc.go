// Package records turns objects into answers.
//
// Compile makes an immutable Snapshot out of everything the sources know;
// Snapshot.Lookup answers one query from it. The package is pure: it reads no
// clock, does no I/O, writes no log and starts no goroutine. Time and
// randomness are handed in.
//
// The way from an object to an answer, one file each:
//
//	compile.go       the way as a whole, from the snapshot before to the next: the stages in their order
//	dirty.go         what one compile makes anew
//	zones.go         the zones of a compile: which it edits, and how they end
//	clusters.go      the clusters of a compile
//	options.go       names of package endpoint for what the Corefile says
//	names.go         names of the rooms below for what callers need
//	claims.go        what has an owner → what that claims at names below   rules 5.1, 5.3 and 5.9
//	groups.go        contenders → names, group by group
//	activity.go      TXT records → which groups of clusters are active, and the hosts that this changes   rule 9.5
//	structure.go     what has everything compiled from nothing, and what goes on meanwhile
//
// Which zones there are, and who may publish in them:
//
//	rdata/           names: their spelling, and what lies below what; text → data of a type   RFC 1035 §5.1
//	endpoint/        Zones → the zones that are served; objects → their endpoints, as far as they may publish them
//
// What objects want, each kind for itself:
//
//	policies.go      Gateways and their policies → contenders for hosts   rule 1
//	children.go      which children there are now
//	publishing.go    DNSRecords and DNSEndpoints: which are served, and what has changed   rule 6.10
//	placing.go       Records → their names in zones, and their contenders   rule 5.3
//
// Who gets it, and what becomes of it:
//
//	owner/           contenders → owners and losers; the registry   rules 5.3 to 5.7
//	registry.go      owners → what the registry is to say of them   rule 5.4
//	unread.go        registry lines whose objects cannot be read → contenders, and what waits for them   rules 5.4 and 7.4
//	pool/            owners → names with their data, members to choose from, and what is checked of them   rules 1.3 to 4.10
//
// Which of it works:
//
//	probing.go       DNSHealthCheckProbes that change → the names whose checks they join   rule 4.10
//	overrides.go     the operator's file → what it concerns   rule 4.5
//
// Zones, and what is said of the objects:
//
//	zone/            names → zones: RRsets, cuts, glue, serials, journals, transfers   rules 5.3, 6.6 to 6.8 and 7.5
//	published.go     serials that go on from what is kept, or from a run before   rule 6.7
//	losses.go        how many names a snapshot loses against another   rule 8.5
//	snapshot.go      all of that at one moment
//	report.go        which verdicts changed
//	status/          what became of each object, and the children that it should have   docs/write-back.md
//	hiding.go        NS records and DNAMEs that come or go → the objects below them   rule 8.1
//
// What the elected replica keeps besides, made where somebody asks:
//
//	parents.go       a change → whose children may have changed
//	owners.go        owners → what is kept of them   rule 5.4
//	stale.go         lines of the registry whose objects are missing   rule 5.4
//
// From a query to its answer:
//
//	lookup.go        query → answer   rule 7
//	referral.go      where a search ends at a cut or a DNAME → a referral, or a way on   rule 7.1
//	additional.go    answer → the addresses that go with it   rule 7.1
//	walk.go          answer → its end: along CNAMEs, and flat where none may stand   rules 2.7 and 7.1
//	pool/            what one name is answered with: the choice among its members   rules 3.6, 4.5, 4.6 and 7.5
//	signing.go       answer → one that can be signed   rule 7.6
//	trail.go         what Lookup does → how the answer came about
//	explain.go       that → the names on the way, and who has them   rules 7.1 and 5.4
//	explain_pool.go  that → the members, and why each was taken or not   rules 4.5 and 4.6
//
// What there is, for people to look at, each made where somebody asks:
//
//	listing.go       a zone → its names
//	tree.go          a host → its groups, their members, and the addresses of these
package records
