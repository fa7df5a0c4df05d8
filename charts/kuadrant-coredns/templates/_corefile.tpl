{{/* The Corefile, without a line end behind it. */}}
{{- define "kuadrant.corefile" -}}
{{- if .Values.corefile -}}
{{- .Values.corefile | trim -}}
{{- else -}}
{{- $blocks := list -}}
{{- range $i, $zone := .Values.zones -}}
{{- $blocks = append $blocks (include "kuadrant.zoneBlock" (dict "root" $ "zone" $zone "first" (eq $i 0))) -}}
{{- end -}}
{{- if include "kuadrant.isClusterDNS" . -}}
{{- $blocks = append $blocks (include "kuadrant.othersBlock" .) -}}
{{- end -}}
{{- join "\n" $blocks -}}
{{- end -}}
{{- end -}}

{{/* What every server block has. */}}
{{- define "kuadrant.observed" -}}
errors
prometheus :{{ int .Values.ports.metrics }}
# Of the plugins in this block, and of no other one.
ready :{{ int .Values.ports.ready }}
bufsize {{ int .Values.bufsize }}
{{- end -}}

{{/* *health*, which one block has. */}}
{{- define "kuadrant.health" -}}
health :{{ int .Values.ports.health }} {
    # From the signal to end until the end.
    lameduck {{ include "kuadrant.lameduck" . }}s
}
{{- end -}}

{{- define "kuadrant.forward" -}}
forward . {{ join " " .Values.clusterDNS.forward.to }} {
    max_concurrent {{ int .Values.clusterDNS.forward.maxConcurrent }}
    {{- with .Values.clusterDNS.forward.extra }}
    {{- . | trim | nindent 4 }}
    {{- end }}
}
{{- end -}}

{{/* The server block of one zone: (dict root zone first). Not in it: *loadbalance*, for which addresses a client gets is chosen by kuadrant;
*cache*, which knows no clients; *reload*, for another Corefile is a rollout. */}}
{{- define "kuadrant.zoneBlock" -}}
{{- $root := .root -}}
{{- $zone := .zone -}}
{{ $zone.name }} {
    {{- include "kuadrant.observed" $root | nindent 4 }}
    {{- if and .first (not (include "kuadrant.isClusterDNS" $root)) }}
    {{- include "kuadrant.health" $root | nindent 4 }}
    {{- end }}
    {{- if include "kuadrant.nsid" $root }}
    nsid
    {{- end }}
    {{- with $zone.tsig }}
    tsig {
        secrets /etc/kuadrant-tsig/{{ .secretName }}/{{ default "keys" .key }}
        require {{ join " " (default (list "AXFR" "IXFR") .require) }}
    }
    {{- end }}
    {{- with $zone.dnssec }}
    dnssec {
        key file
        {{- $dir := printf "/etc/kuadrant-dnssec/%s" .secretName }}
        {{- range .keys }} {{ $dir }}/{{ . }}{{ end }}
    }
    {{- end }}
    {{- with $zone.transfer }}
    transfer {
        to {{ join " " .to }}
    }
    {{- end }}
    {{- with $root.Values.extraPlugins }}
    {{- . | trim | nindent 4 }}
    {{- end }}
    {{- with $zone.extraPlugins }}
    {{- . | trim | nindent 4 }}
    {{- end }}
    kuadrant {
        {{- with include "kuadrant.zoneProperties" $zone }}
        {{- . | nindent 8 }}
        {{- end }}
        {{- if .first }}
        {{- include "kuadrant.properties" $root | nindent 8 }}
        {{- end }}
    }
    {{- if and $zone.fallthrough (include "kuadrant.isClusterDNS" $root) }}
    {{- include "kuadrant.forward" $root | nindent 4 }}
    {{- end }}
}
{{- end -}}

{{/* The server block of all names that are in no zone of ours: in clusterDNS alone. */}}
{{- define "kuadrant.othersBlock" -}}
{{- with .Values.clusterDNS -}}
. {
    {{- include "kuadrant.observed" $ | nindent 4 }}
    {{- include "kuadrant.health" $ | nindent 4 }}
    {{- with .extraPlugins }}
    {{- . | trim | nindent 4 }}
    {{- end }}
    kubernetes {{ .domain }}{{ range .reverseZones }} {{ . }}{{ end }} {
        pods {{ .pods }}
        {{- with .reverseZones }}
        fallthrough {{ join " " . }}
        {{- end }}
        ttl {{ int .ttl }}
    }
    {{- include "kuadrant.forward" $ | nindent 4 }}
    {{- if .cache }}
    cache {{ int .cache }}
    {{- end }}
    loop
    loadbalance
}
{{- end -}}
{{- end -}}

{{/* What is said of one zone. */}}
{{- define "kuadrant.zoneProperties" -}}
{{- $lines := list -}}
{{- range .nameservers -}}
{{- $lines = append $lines (printf "nameserver %s" (join " " (prepend (default list .addresses) .name))) -}}
{{- end -}}
{{- with .rname }}{{ $lines = append $lines (printf "rname %s" .) }}{{ end -}}
{{- with .answer }}{{ $lines = append $lines (printf "answer %s" .) }}{{ end -}}
{{- with .ttl -}}
{{- $ttl := printf "ttl %d" (int .default) -}}
{{- if hasKey . "loadBalanced" }}{{ $ttl = printf "%s %d" $ttl (int .loadBalanced) }}{{ end -}}
{{- $lines = append $lines $ttl -}}
{{- end -}}
{{- with .ownerTXT }}{{ $lines = append $lines (printf "owner-txt %s" .) }}{{ end -}}
{{- $name := .name -}}
{{- range .publish -}}
{{- $lines = append $lines (printf "publish %s %s" (default $name .domain) (join " " .namespaces)) -}}
{{- end -}}
{{- if kindIs "slice" .fallthrough -}}
{{- with .fallthrough }}{{ $lines = append $lines (printf "fallthrough %s" (join " " .)) }}{{ end -}}
{{- else if .fallthrough -}}
{{- $lines = append $lines "fallthrough" -}}
{{- end -}}
{{- with .extraProperties }}{{ $lines = append $lines (trim .) }}{{ end -}}
{{- join "\n" $lines -}}
{{- end -}}

{{/* What is said of the whole process, in the first block. */}}
{{- define "kuadrant.properties" -}}
{{- $lines := list -}}
{{- with .Values.namespaces }}{{ $lines = append $lines (printf "namespaces %s" (join " " .)) }}{{ end -}}
{{- with .Values.policies }}{{ $lines = append $lines (printf "policies %s" .) }}{{ end -}}
{{- with .Values.kinds }}{{ $lines = append $lines (printf "kinds %s" (join " " .)) }}{{ end -}}
{{- if not (include "kuadrant.secrets" .) }}{{ $lines = append $lines "secrets off" }}{{ end -}}
{{- with .Values.zoneNamespaces }}{{ $lines = append $lines (printf "zone-namespaces %s" (join " " .)) }}{{ end -}}
{{- range .Values.clusters -}}
{{- $lines = append $lines (include "kuadrant.cluster" .) -}}
{{- end -}}
{{- $lines = append $lines (printf "write-back %s" (include "kuadrant.writeBack" .)) -}}
{{- with .Values.writeRate }}{{ $lines = append $lines (printf "write-rate %d %d" (int .qps) (int .burst)) }}{{ end -}}
{{- $lines = append $lines (printf "lease %s/%s" (include "kuadrant.leaseNamespace" .) (include "kuadrant.leaseName" .)) -}}
{{- with include "kuadrant.guard" . }}{{ $lines = append $lines (printf "guard %s" .) }}{{ end -}}
{{- if include "kuadrant.probes" . -}}
{{- with .Values.probes.deny }}{{ $lines = append $lines (printf "probe-deny %s" (join " " .)) }}{{ end -}}
{{- with .Values.probes.allow }}{{ $lines = append $lines (printf "probe-allow %s" (join " " .)) }}{{ end -}}
{{- else -}}
{{- $lines = append $lines "probes off" -}}
{{- end -}}
{{- with .Values.geoip.files }}{{ $lines = append $lines (printf "geoip %s" (join " " .)) }}{{ end -}}
{{- if or .Values.nets.text .Values.nets.configMap }}{{ $lines = append $lines "nets /etc/kuadrant-nets/nets" }}{{ end -}}
{{- $lines = append $lines "override /etc/kuadrant/overrides" -}}
{{- if .Values.state.enabled }}{{ $lines = append $lines "state /var/lib/kuadrant" }}{{ end -}}
{{- if .Values.console.enabled }}{{ $lines = append $lines (include "kuadrant.console" .) }}{{ end -}}
{{- with .Values.extraProperties }}{{ $lines = append $lines (trim .) }}{{ end -}}
{{- join "\n" $lines -}}
{{- end -}}

{{/* One more cluster. */}}
{{- define "kuadrant.cluster" -}}
cluster {{ .name }} /etc/kuadrant-clusters/{{ .name }}/kubeconfig{{ with .context }} {{ . }}{{ end }}
{{- $off := and (hasKey . "writeBack") (not .writeBack) }}
{{- if or .namespaces $off }} {
{{- with .namespaces }}
    namespaces {{ join " " . }}
{{- end }}
{{- if $off }}
    write-back off
{{- end }}
}
{{- end }}
{{- end -}}

{{/* The page for people. The Service's names are those that browsers inside of the cluster ask for. */}}
{{- define "kuadrant.console" -}}
{{- $service := printf "%s-console" (include "kuadrant.fullname" .) -}}
console :{{ int .Values.console.port }} /etc/kuadrant-console/token {{ join " " (concat (list $service (printf "%s.%s" $service .Release.Namespace) (printf "%s.%s.svc" $service .Release.Namespace)) .Values.console.hosts) }}
{{- end -}}
