package main

// Every server exports everything. Counts of queries are summed over the servers. Facts about a
// zone or a cluster are the max over them, or the min if that is the worse value. Facts about one
// server have its name.

var yesNo = []state{{"0", "no", "red"}, {"1", "yes", "green"}}

var healthStates = []state{{"0", "down", "red"}, {"0.5", "not decided", "yellow"}, {"1", "up", "green"}}

const (
	servers  = `job=~"$job", instance=~"$instance"`
	zones    = servers + `, zone=~"$zone"`
	clusters = servers + `, cluster=~"$cluster"`
	failOpen = `class=~"down|drained-down|forced-down"`
	plugin   = "coredns_kuadrant_"
	// notifyFailures starts with the first failure, which is no increase: panels count it as the
	// alert does.
	notifyFailures = plugin + `notify_failures_total{` + servers + `}`
	// ofPlugin keeps only those of CoreDNS's metrics that belong to server blocks with the plugin.
	ofPlugin = ` * on (namespace, job, instance, server, zone, view) group_left () coredns_plugin_enabled{name="kuadrant"}`
)

var rows = []row{
	{"Overview", []panel{
		{
			kind: "stat", title: "Servers that can answer", unit: "none", width: 4, least: 1,
			description: "Servers with a snapshot to answer from, of those that are scraped. 0 is red; one alone is as good as none when its node goes.",
			queries:     []query{{"", `count(` + plugin + `snapshot_timestamp_seconds{` + servers + `}) or vector(0)`}},
		},
		{
			kind: "stat", title: "Servers that write back", unit: "none", width: 4, least: 1, red: 2,
			description: "Servers that hold the Lease of each cluster, of all servers, whichever are chosen above. One is right, and green; none and two are red, as they are for a moment while another takes over. Nothing is shown for clusters that are not written to.",
			queries:     []query{{"{{cluster}}", `sum by (cluster) (` + plugin + `leader{job=~"$job", cluster=~"$cluster"})`}},
		},
		{
			kind: "stat", title: "Queries", unit: "reqps", width: 4,
			description: "Queries a second, to all plugins of these servers.",
			queries:     []query{{"", `sum(rate(coredns_dns_requests_total{` + servers + `}[5m]))`}},
		},
		{
			kind: "stat", title: "SERVFAIL", unit: "percentunit", width: 4, red: 0.05,
			description: "Share of SERVFAIL among the answers of server blocks with this plugin, without the root zone, where it may be others that fail.",
			queries: []query{{"", `(sum(rate(coredns_dns_responses_total{` + servers + `, zone!=".", rcode="SERVFAIL"}[5m])` + ofPlugin + `) or vector(0)) ` +
				`/ sum(rate(coredns_dns_responses_total{` + servers + `, zone!="."}[5m])` + ofPlugin + `)`}},
		},
		{
			kind: "stat", title: "Panics", unit: "none", width: 4, red: 1,
			description: "Panics that were recovered from in the time shown. Each has cost one answer.",
			queries:     []query{{"", `sum(increase(coredns_panics_total{` + servers + `}[$__range]))`}},
		},
		{
			kind: "stat", title: "Failed reloads", unit: "none", width: 4, red: 1,
			description: "Corefiles that could not be loaded in the time shown, with the plugin reload. The server goes on with what it had.",
			queries:     []query{{"", `sum(increase(coredns_reload_failed_total{` + servers + `}[$__range]))`}},
		},
		{
			kind: "timeseries", title: "Queries by server block", unit: "reqps", width: 8,
			description: "Queries a second by the zone of the server block that has answered.",
			queries:     []query{{"{{zone}}", `sum by (zone) (rate(coredns_dns_requests_total{` + servers + `}[$__rate_interval]))`}},
		},
		{
			kind: "timeseries", title: "Answers by code", unit: "reqps", width: 8,
			description: "Answers a second of server blocks with this plugin, by response code. NXDOMAIN is an answer; SERVFAIL is trouble.",
			queries:     []query{{"{{rcode}}", `sum by (rcode) (rate(coredns_dns_responses_total{` + servers + `}[$__rate_interval])` + ofPlugin + `)`}},
		},
		{
			kind: "timeseries", title: "Time to answer", unit: "s", width: 8,
			description: "How long half of the answers, and 99 of 100, take at most, by server block. What a block forwards is among them.",
			queries: []query{
				{"half, {{zone}}", `histogram_quantile(0.5, sum by (zone, le) (rate(coredns_dns_request_duration_seconds_bucket{` + servers + `}[$__rate_interval])))`},
				{"99 %, {{zone}}", `histogram_quantile(0.99, sum by (zone, le) (rate(coredns_dns_request_duration_seconds_bucket{` + servers + `}[$__rate_interval])))`},
			},
		},
		{
			kind: "table", title: "Alerts", unit: "none", width: 24,
			description: "Alerts of config/observability/rules.yaml that fire now. docs/runbooks.md says what to do.",
			queries:     []query{{"", `max by (alertname, severity, cluster, zone, host, instance) (ALERTS{alertname=~"Kuadrant.+", alertstate="firing"})`}},
		},
	}},
	{"Traffic", []panel{
		{
			kind: "timeseries", title: "Answers by geography", unit: "reqps", width: 8,
			description: "Steered answers a second by the geo code of the chosen member; * is a member without one.",
			queries:     []query{{"{{geo}}", `sum by (geo) (rate(` + plugin + `requests_steered_total{` + zones + `}[$__rate_interval]))`}},
		},
		{
			kind: "timeseries", title: "Answers by class", unit: "reqps", width: 8,
			description: "Steered answers a second by the state of what was chosen. From down on, nothing better was left.",
			queries:     []query{{"{{class}}", `sum by (class) (rate(` + plugin + `requests_steered_total{` + zones + `}[$__rate_interval]))`}},
		},
		{
			kind: "timeseries", title: "Clients located by", unit: "reqps", width: 8,
			description: "Steered answers a second by what located the client: its subnet in the query (ecs), its source address, or nothing, where the client does not matter or nobody knows where it is.",
			queries:     []query{{"{{by}}", `sum by (by) (rate(` + plugin + `clients_located_total{` + servers + `}[$__rate_interval]))`}},
		},
		{
			kind: "timeseries", title: "Queries of fast-udp", unit: "reqps", width: 24,
			description: "Queries a second at the sockets of fast-udp: answered, or why CoreDNS got them; and those that the kernel dropped.",
			queries: []query{
				{"{{outcome}}", `sum by (outcome) (rate(` + plugin + `fast_udp_total{` + servers + `}[$__rate_interval]))`},
				{"dropped", `sum(rate(` + plugin + `fast_udp_dropped_total{` + servers + `}[$__rate_interval]))`},
			},
		},
		{
			kind: "timeseries", title: "Answers with what is down", unit: "percentunit", width: 12,
			description: "Share of the steered answers of a zone that fail open: nothing that is up was left for them.",
			queries: []query{{"{{zone}}", `sum by (zone) (rate(` + plugin + `requests_steered_total{` + zones + `, ` + failOpen + `}[$__rate_interval])) ` +
				`/ sum by (zone) (rate(` + plugin + `requests_steered_total{` + zones + `}[$__rate_interval]))`}},
		},
		{
			kind: "timeseries", title: "Answers by zone", unit: "reqps", width: 12,
			description: "Steered answers a second by zone.",
			queries:     []query{{"{{zone}}", `sum by (zone) (rate(` + plugin + `requests_steered_total{` + zones + `}[$__rate_interval]))`}},
		},
	}},
	{"Target health", []panel{
		{
			kind: "table", title: "Targets that are not up", unit: "none", width: 12, states: healthStates,
			description: "Targets that a server finds down or has not decided about, as the server sees it that sees the worst. It reports what checks find, not overrides.",
			queries:     []query{{"", `min by (host, target) (` + plugin + `target_health{` + servers + `}) < 1`}},
		},
		{
			kind: "timeseries", title: "Targets by state", unit: "none", width: 12,
			description: "Number of targets by state, for the server that counts most of them. Where servers differ, one of them does not reach what others reach.",
			queries: []query{
				{"up", `max(count by (instance) (` + plugin + `target_health{` + servers + `} == 1))`},
				{"not decided", `max(count by (instance) (` + plugin + `target_health{` + servers + `} == 0.5))`},
				{"down", `max(count by (instance) (` + plugin + `target_health{` + servers + `} == 0))`},
			},
		},
		{
			kind: "state-timeline", title: "Targets that were not up", unit: "none", width: 24, states: healthStates,
			description: "When targets were down, or not decided about, on any server. Targets that were up all the time are left out.",
			queries: []query{{"{{host}} {{target}}", `min by (host, target) (` + plugin + `target_health{` + servers + `}) ` +
				`and on (host, target) min by (host, target) (min_over_time(` + plugin + `target_health{` + servers + `}[$__range])) < 1`}},
		},
	}},
	{"Probes", []panel{
		{
			kind: "timeseries", title: "Time of a check", unit: "s", width: 8,
			description: "How long 9 of 10 checks take at most, by protocol and result.",
			queries:     []query{{"{{protocol}}, {{result}}", `histogram_quantile(0.9, sum by (protocol, result, le) (rate(` + plugin + `probe_duration_seconds_bucket{` + servers + `}[$__rate_interval])))`}},
		},
		{
			kind: "timeseries", title: "Checks", unit: "ops", width: 8,
			description: "Checks a second by result. The result none says nothing about the target: there was no route, or no answer of a resolver, here.",
			queries:     []query{{"{{result}}", `sum by (result) (rate(` + plugin + `probe_duration_seconds_count{` + servers + `}[$__rate_interval]))`}},
		},
		{
			kind: "timeseries", title: "Checks overdue", unit: "s", width: 8,
			description: "How late the most overdue check is. More than a second is too many checks for this machine, or too many targets that say nothing.",
			queries:     []query{{"{{instance}}", `max by (instance) (` + plugin + `probe_overdue_seconds{` + servers + `})`}},
		},
	}},
	{"Compiling", []panel{
		{
			kind: "timeseries", title: "Time to compile", unit: "s", width: 8,
			description: "How long half of the changes, and 99 of 100, take at most to compile.",
			queries: []query{
				{"half", `histogram_quantile(0.5, sum by (le) (rate(` + plugin + `compile_duration_seconds_bucket{` + servers + `}[$__rate_interval])))`},
				{"99 %", `histogram_quantile(0.99, sum by (le) (rate(` + plugin + `compile_duration_seconds_bucket{` + servers + `}[$__rate_interval])))`},
			},
		},
		{
			kind: "timeseries", title: "Compiles", unit: "ops", width: 8,
			description: "Compiles a second of each server: one for whatever has changed meanwhile.",
			queries:     []query{{"{{instance}}", `sum by (instance) (rate(` + plugin + `compile_duration_seconds_count{` + servers + `}[$__rate_interval]))`}},
		},
		{
			kind: "timeseries", title: "Age of the snapshot", unit: "s", width: 8,
			description: "How long ago the snapshot was made that queries are answered from. Where nothing changes it grows old, and that is right.",
			queries:     []query{{"{{instance}}", `time() - max by (instance) (` + plugin + `snapshot_timestamp_seconds{` + servers + `})`}},
		},
	}},
	{"Sources", []panel{
		{
			kind: "state-timeline", title: "Clusters followed", unit: "none", width: 12, states: yesNo,
			description: "Whether everything of a cluster is listed and followed, by server. Where it is not, answers are from what was known.",
			queries:     []query{{"{{cluster}}, {{instance}}", `min by (cluster, instance) (` + plugin + `source_synced{` + clusters + `})`}},
		},
		{
			kind: "timeseries", title: "Time since anything was heard", unit: "s", width: 12,
			description: "How long ago each cluster's source last heard anything. An API server says something every minute or so, a directory is looked at twice a minute.",
			queries:     []query{{"{{cluster}}, {{instance}}", `time() - (max by (cluster, instance) (` + plugin + `source_last_event_timestamp_seconds{` + clusters + `}) > 0)`}},
		},
		{
			kind: "timeseries", title: "Objects read", unit: "none", width: 12,
			description: "Number of objects that were read, by kind.",
			queries:     []query{{"{{kind}}", `max by (kind) (` + plugin + `objects{` + servers + `, state="read"})`}},
		},
		{
			kind: "timeseries", title: "Objects refused", unit: "none", width: 12,
			description: "Number of objects of which nothing is served, by kind. Their status, or the log, says why.",
			queries:     []query{{"{{kind}}", `max by (kind) (` + plugin + `objects{` + servers + `, state="refused"})`}},
		},
	}},
	{"Write-back", []panel{
		{
			kind: "state-timeline", title: "Who writes", unit: "none", width: 8, states: []state{{"0", "no", "text"}, {"1", "writes", "green"}},
			description: "Which server writes back to which cluster.",
			queries:     []query{{"{{cluster}}, {{instance}}", `max by (cluster, instance) (` + plugin + `leader{` + clusters + `})`}},
		},
		{
			kind: "timeseries", title: "Backlog", unit: "none", width: 8,
			description: "Number of objects that the server which writes has yet to look at. It comes and goes; where it stays, something is refused or slow. And of names that have had no line in the registry for a minute.",
			queries: []query{
				{"{{cluster}}", `max by (cluster) (` + plugin + `write_backlog{` + clusters + `})`},
				{"{{zone}}, unregistered names", `max by (zone) (` + plugin + `unregistered_names{` + zones + `}) > 0`},
			},
		},
		{
			kind: "table", title: "Serials", unit: "none", width: 8,
			description: "SOA serials by zone and server. Where they are kept in the cluster, all servers show the same.",
			queries:     []query{{"", `max by (zone, instance) (` + plugin + `serial{` + zones + `})`}},
		},
		{
			kind: "timeseries", title: "NOTIFY not taken", unit: "none", width: 8,
			description: "NOTIFYs within an hour that a secondary has not taken, each after three attempts.",
			queries:     []query{{"{{to}}", `sum by (to) ((increase(` + notifyFailures + `[1h]) > 0) or (` + notifyFailures + ` > 0 unless ` + notifyFailures + ` offset 1h))`}},
		},
		{
			kind: "timeseries", title: "Serials that wait", unit: "s", width: 8,
			description: "For how long SOA and transfers of a zone have been behind its answers. A writer that can reach its API server keeps a serial within seconds.",
			queries:     []query{{"{{zone}}", `max by (zone) (` + plugin + `serial_pending_seconds{` + zones + `})`}},
		},
	}},
	{"Zones", []panel{
		{
			kind: "stat", title: "Open zones", unit: "none", width: 6,
			description: "Zones in which every namespace may publish: they have no Zone object, and no line publish.",
			queries:     []query{{"", `max(` + plugin + `open_zones{` + servers + `})`}},
		},
		{
			kind: "stat", title: "Owners that cannot be read", unit: "none", width: 6, red: 1,
			description: "Registered names whose owners cannot be read now. They are SERVFAIL, unless others share them.",
			queries:     []query{{"", `max(` + plugin + `unread_owners{` + servers + `})`}},
		},
		{
			kind: "stat", title: "Names held back", unit: "none", width: 6, red: 1,
			description: "Names whose objects are missing without a report of their deletion. They go when the time is up.",
			queries:     []query{{"", `sum(max by (zone) (` + plugin + `held_removals{` + zones + `}))`}},
		},
		{
			kind: "stat", title: "Conflicts", unit: "none", width: 6,
			description: "Hosts and Records that an object wants and another owns.",
			queries:     []query{{"", `sum(max by (zone) (` + plugin + `conflicts{` + zones + `}))`}},
		},
		{
			kind: "timeseries", title: "Names", unit: "none", width: 8,
			description: "Number of names by zone, empty ones between others included.",
			queries:     []query{{"{{zone}}", `max by (zone) (` + plugin + `snapshot_names{` + zones + `})`}},
		},
		{
			kind: "timeseries", title: "Conflicts by zone", unit: "none", width: 8,
			description: "Hosts and Records that an object wants and another owns, by zone.",
			queries:     []query{{"{{zone}}", `max by (zone) (` + plugin + `conflicts{` + zones + `})`}},
		},
		{
			kind: "timeseries", title: "Held back by zone", unit: "none", width: 8,
			description: "Names of which something is held back. Half a minute of it comes from a Gateway's status; more is a list that lacks objects.",
			queries:     []query{{"{{zone}}", `max by (zone) (` + plugin + `held_removals{` + zones + `})`}},
		},
		{
			kind: "timeseries", title: "Active groups", unit: "none", width: 12,
			description: "Groups of clusters: 1 is active. Empty without a TXT record that names the active ones.",
			queries:     []query{{"{{zone}} {{group}}", `min by (zone, group) (` + plugin + `group_active{` + zones + `})`}},
		},
	}},
	{"State on disk", []panel{
		{
			kind: "timeseries", title: "Age of the state", unit: "s", width: 12,
			description: "How long ago each server has written its state, since it started. Where nothing changes it grows old. Empty without the property state.",
			queries:     []query{{"{{instance}}", `time() - (max by (instance) (` + plugin + `state_written_timestamp_seconds{` + servers + `}) > 0)`}},
		},
		{
			kind: "state-timeline", title: "Answers from the state", unit: "none", width: 12, states: []state{{"0", "no", "green"}, {"1", "from disk", "orange"}},
			description: "Whether something of a cluster is answered from the state on disk, because it has not been listed since the start.",
			queries:     []query{{"{{cluster}}, {{instance}}", `max by (cluster, instance) (` + plugin + `state_served{` + clusters + `})`}},
		},
	}},
}
