// Package status says what became of each object: conditions, the children that it should have, and what is wrong.
//
//	view.go               what all objects have become at one moment
//	object.go             how an object is named to people
//	verdict.go            policies: their conditions   docs/write-back.md
//	elsewhere.go          policies whose providers are another controller's   docs/providers.md
//	affected.go           what a Gateway says of its policies   docs/write-back.md
//	zone_verdict.go       Zones and Records
//	publisher_verdict.go  DNSRecords and DNSEndpoints
//	entries.go            a Zone's status.entries
//	conflicts.go          who wants what another one has, and what is not served in full   rules 5.3 to 5.7
//	sharers.go            who has a host together, and what each says of it as a whole   rule 5.6
//	unmet.go              overrides that concern nothing   rule 4.5
//
// How things are at the moment, by the health cells:
//
//	healthy.go            a policy's status, and what fails open   rules 4.6 and 4.8
//	status.go             probes and DNSRecords   rule 4.8
//	probe_problem.go      why a probe has no effect   rule 4.10
//	followers.go          a target → the objects whose status follows it   rule 4.8
//
// What the elected replica writes besides:
//
//	children.go           a policy or a DNSRecord → the objects that it should have   docs/write-back.md
//	child_names.go        their names
//	child_records.go      a policy → its DNSRecords
//	child_probes.go       a policy or a DNSRecord → its DNSHealthCheckProbes
//	offspring.go          the children that there are, by whom they belong to
//
// A View is immutable but for the cells; any number of goroutines may read it. Nothing here decides about an answer.
package status
