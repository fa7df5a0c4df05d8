{{/* The chart's name, or what replaces it. */}}
{{- define "kuadrant.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{/* The name of the objects. 52 characters leave room for what is put behind it: a Service's name has 63 at most. */}}
{{- define "kuadrant.fullname" -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 52 | trimSuffix "-" -}}
{{- else if contains $name .Release.Name -}}
{{- .Release.Name | trunc 52 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 52 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/* "true" in the mode clusterDNS, else "". */}}
{{- define "kuadrant.isClusterDNS" -}}
{{- if eq .Values.mode "clusterDNS" }}true{{ end -}}
{{- end -}}

{{/* The component, as in config/deploy. */}}
{{- define "kuadrant.component" -}}
{{- if include "kuadrant.isClusterDNS" . }}cluster-dns{{ else }}public{{ end -}}
{{- end -}}

{{/* Labels that select the pods. They never change. */}}
{{- define "kuadrant.selectorLabels" -}}
app.kubernetes.io/name: {{ include "kuadrant.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: {{ include "kuadrant.component" . }}
{{- end -}}

{{/* Labels of all objects. */}}
{{- define "kuadrant.labels" -}}
{{ include "kuadrant.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* A value that may be `auto`: (list value with-clusterDNS with-delegatedZone root). Booleans come out as "true" or "". */}}
{{- define "kuadrant.auto" -}}
{{- $value := index . 0 -}}
{{- if eq (toString $value) "auto" -}}
{{- $value = ternary (index . 1) (index . 2) (eq (index . 3).Values.mode "clusterDNS") -}}
{{- end -}}
{{- if kindIs "bool" $value -}}
{{- if $value }}true{{ end -}}
{{- else -}}
{{- if kindIs "float64" $value }}{{ int $value }}{{ else }}{{ $value }}{{ end -}}
{{- end -}}
{{- end -}}

{{- define "kuadrant.secrets" -}}{{ include "kuadrant.auto" (list .Values.secrets false true .) }}{{- end -}}
{{- define "kuadrant.probes" -}}{{ include "kuadrant.auto" (list .Values.probes.enabled false true .) }}{{- end -}}
{{- define "kuadrant.nsid" -}}{{ include "kuadrant.auto" (list .Values.nsid false true .) }}{{- end -}}
{{- define "kuadrant.lameduck" -}}{{ include "kuadrant.auto" (list .Values.lameduck 5 30 .) }}{{- end -}}
{{- define "kuadrant.dnsPort" -}}{{ include "kuadrant.auto" (list .Values.ports.dns 53 1053 .) }}{{- end -}}
{{- define "kuadrant.hasService" -}}{{ include "kuadrant.auto" (list .Values.service.enabled false true .) }}{{- end -}}
{{- define "kuadrant.serviceType" -}}{{ include "kuadrant.auto" (list .Values.service.type "ClusterIP" "LoadBalancer" .) }}{{- end -}}

{{/* all, status or off. YAML makes a boolean of a bare `off`. */}}
{{- define "kuadrant.writeBack" -}}
{{- if kindIs "bool" .Values.writeBack }}off{{ else }}{{ include "kuadrant.auto" (list .Values.writeBack "off" "all" .) }}{{ end -}}
{{- end -}}

{{/* "true" where Secrets are read at all. */}}
{{- define "kuadrant.readsSecrets" -}}
{{- if and (include "kuadrant.secrets" .) (or (not .Values.kinds) (has "Secret" .Values.kinds)) }}true{{ end -}}
{{- end -}}

{{/* "true" where a kind is read: (list kind root). */}}
{{- define "kuadrant.reads" -}}
{{- $kinds := (index . 1).Values.kinds -}}
{{- if or (not $kinds) (has (index . 0) $kinds) }}true{{ end -}}
{{- end -}}

{{/* How long names stay that would go by mistake, "" where nothing is said. 0 is something. */}}
{{- define "kuadrant.guard" -}}{{ if not (kindIs "invalid" .Values.guard) }}{{ .Values.guard }}{{ end }}{{- end -}}
{{- define "kuadrant.leaseNamespace" -}}{{ default .Release.Namespace .Values.lease.namespace }}{{- end -}}
{{- define "kuadrant.leaseName" -}}{{ default (include "kuadrant.fullname" .) .Values.lease.name }}{{- end -}}

{{- define "kuadrant.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "kuadrant.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{/* The name of a role: (list part root). Roles of the whole cluster, and those in namespaces of others, need names that no other release has. */}}
{{- define "kuadrant.roleName" -}}
{{- $root := index . 1 -}}
{{- printf "%s:%s:%s" $root.Release.Namespace (include "kuadrant.fullname" $root) (index . 0) -}}
{{- end -}}

{{/* The end of a binding: (list kind part root). */}}
{{- define "kuadrant.binds" -}}
{{- $root := index . 2 -}}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: {{ index . 0 }}
  name: {{ include "kuadrant.roleName" (list (index . 1) $root) | quote }}
subjects:
- kind: ServiceAccount
  name: {{ include "kuadrant.serviceAccount" $root }}
  namespace: {{ $root.Release.Namespace }}
{{- end -}}

{{/* The ports of the resolvers that clusterDNS forwards to, as a list in JSON, except 53, which is let out anyhow. An entry is an address or a file,
with a scheme or none, with a port or none; a server's name or a network's zone may stand behind a `%`. */}}
{{- define "kuadrant.forwardPorts" -}}
{{- $ports := list -}}
{{- if include "kuadrant.isClusterDNS" . -}}
{{- range .Values.clusterDNS.forward.to -}}
{{- $scheme := regexFind "^[a-z]+://" . | trimSuffix "://" -}}
{{- $host := regexReplaceAll "%[^:\\]]*" (regexReplaceAll "^[a-z]+://" . "") "" -}}
{{- $port := get (dict "tls" "853" "quic" "853" "https" "443") $scheme | default "53" -}}
{{- if regexMatch "^([^/:]+|\\[.*\\]):[0-9]+$" $host }}{{ $port = regexFind "[0-9]+$" $host }}{{ end -}}
{{- if ne $scheme "quic" }}{{ $ports = append $ports (dict "port" $port "protocol" "TCP") }}{{ end -}}
{{- if has $scheme (list "" "dns" "quic") }}{{ $ports = append $ports (dict "port" $port "protocol" "UDP") }}{{ end -}}
{{- end -}}
{{- end -}}
{{- $fresh := list -}}
{{- range uniq $ports }}{{ if ne .port "53" }}{{ $fresh = append $fresh . }}{{ end }}{{ end -}}
{{- toJson $fresh -}}
{{- end -}}

{{/* The image. */}}
{{- define "kuadrant.image" -}}
{{- $repository := required "image.repository is required: the image that you have built and pushed, such as registry.example/kuadrant (see README.md, Install)" .Values.image.repository -}}
{{- $repository }}:{{ default .Chart.AppVersion .Values.image.tag }}
{{- with .Values.image.digest }}@{{ . }}{{ end -}}
{{- end -}}

{{/* Nine tenths of the memory limit in MiB, "" without a limit: the garbage collector works harder before the kernel ends the process. */}}
{{- define "kuadrant.goMemLimit" -}}
{{- $limit := dig "limits" "memory" "" (default dict .Values.resources) -}}
{{- if kindIs "float64" $limit }}{{ $limit = int64 $limit }}{{ end -}}
{{- $limit = toString $limit -}}
{{- if $limit -}}
{{- if not (regexMatch "^[0-9]+(\\.[0-9]+)?([MGT]i?|Ki|k)?$" $limit) -}}
{{- fail (printf "resources.limits.memory is %q: write it as 512Mi or 1Gi, for GOMEMLIMIT is made of it" $limit) -}}
{{- end -}}
{{- $number := regexFind "^[0-9.]+" $limit | float64 -}}
{{- $unit := regexFind "[kKMGT]i?$" $limit -}}
{{- $of := dict "" 1 "k" 1e3 "Ki" 1024 "M" 1e6 "Mi" 1048576 "G" 1e9 "Gi" 1073741824 "T" 1e12 "Ti" 1099511627776 -}}
{{- printf "%dMiB" (floor (divf (mulf $number (get $of $unit) 0.9) 1048576) | int) -}}
{{- end -}}
{{- end -}}

{{/* What is wrong with a zone, in view of the other values: (list zone root published). `published` has who may publish what by the zones before. */}}
{{- define "kuadrant.validateZone" -}}
{{- $zone := index . 0 -}}
{{- $root := index . 1 -}}
{{- $name := $zone.name | lower | trimSuffix "." -}}
{{- include "kuadrant.validateServers" (list $zone $name) -}}
{{- include "kuadrant.validatePublish" (list $zone (index . 2)) -}}
{{- if include "kuadrant.isClusterDNS" $root -}}
{{- range $own := prepend (default list $root.Values.clusterDNS.reverseZones) $root.Values.clusterDNS.domain -}}
{{- if hasSuffix (printf ".%s" $name) (printf ".%s" ($own | lower | trimSuffix ".")) -}}
{{- fail (printf "zones: %s has the cluster's own names below it, those of %s: its server block would hide them. Name a zone that is not above clusterDNS.domain and clusterDNS.reverseZones, nor the same as one of them" $zone.name $own) -}}
{{- end -}}
{{- end -}}
{{- else if $zone.fallthrough -}}
{{- $plugins := printf "%s\n%s" $root.Values.extraPlugins (default "" $zone.extraPlugins) -}}
{{- if not (regexMatch (printf "(?m)^[ \\t]*(%s)([ \\t]|$)" (include "kuadrant.answering" $root)) $plugins) -}}
{{- fail (printf "zones: %s has fallthrough, and no plugin behind it that answers: names that do not exist would be REFUSED. Write one into its extraPlugins, such as `forward . 192.0.2.53`, or leave fallthrough out" $zone.name) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* What is wrong with the name servers of a zone: (list zone name-without-dot). */}}
{{- define "kuadrant.validateServers" -}}
{{- $zone := index . 0 -}}
{{- $name := index . 1 -}}
{{- $seen := dict -}}
{{- range $zone.nameservers -}}
{{- $server := .name | lower | trimSuffix "." -}}
{{- if regexMatch "^[0-9]+(\\.[0-9]+){3}$" $server -}}
{{- fail (printf "zones: %s has the name server %s, which is an address: write the server's name, and this one into its addresses" $zone.name .name) -}}
{{- end -}}
{{- if hasKey $seen $server -}}
{{- fail (printf "zones: %s has the name server %s twice: write it once, with all its addresses" $zone.name .name) -}}
{{- end -}}
{{- $_ := set $seen $server true -}}
{{- if and (not .addresses) (hasSuffix (printf ".%s" $name) (printf ".%s" $server)) -}}
{{- fail (printf "zones: the name server %s lies in the zone %s and has no addresses, so that nobody could find it: write its addresses" .name $zone.name) -}}
{{- end -}}
{{- range $address := .addresses -}}
{{- if not (include "kuadrant.isAddress" $address) -}}
{{- fail (printf "zones: %s: the name server %s has the address %q, which is none" $zone.name $server $address) -}}
{{- end -}}
{{- if regexMatch "^(0\\.0\\.0\\.0|255\\.255\\.255\\.255|2(2[4-9]|3[0-9])\\..*|[0:]+|[fF]{2}.*)$" $address -}}
{{- fail (printf "zones: %s: the name server %s has the address %s, to which no resolver can send queries" $zone.name $server $address) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* What is wrong with who may publish in a zone: (list zone published). A domain has one entry in a zone, and in all zones that name it the same
namespaces. */}}
{{- define "kuadrant.validatePublish" -}}
{{- $zone := index . 0 -}}
{{- $published := index . 1 -}}
{{- $seen := dict -}}
{{- range $zone.publish -}}
{{- $domain := default $zone.name .domain | trimPrefix "*." | lower | trimSuffix "." -}}
{{- if hasKey $seen $domain -}}
{{- fail (printf "zones: %s has two entries in publish for %s: write one, with all namespaces" $zone.name $domain) -}}
{{- end -}}
{{- $_ := set $seen $domain true -}}
{{- $who := uniq .namespaces | sortAlpha | join ", " -}}
{{- if ne $who (get $published $domain | default $who) -}}
{{- fail (printf "zones: %s lets %s publish in %s, and another zone %s: write the same namespaces in both, or one entry" $zone.name $who $domain (get $published $domain)) -}}
{{- end -}}
{{- $_ := set $published $domain $who -}}
{{- end -}}
{{- end -}}

{{/* The lines of the user's own in the server blocks. */}}
{{- define "kuadrant.extras" -}}
{{- $lines := list .Values.extraProperties .Values.extraPlugins -}}
{{- range .Values.zones }}{{ $lines = concat $lines (list .extraProperties .extraPlugins) }}{{ end -}}
{{- compact $lines | join "\n" -}}
{{- end -}}

{{/* The domains that lines `publish` are about, as a list in JSON. */}}
{{- define "kuadrant.published" -}}
{{- $domains := list -}}
{{- range $zone := .Values.zones -}}
{{- range .publish }}{{ $domains = append $domains (default $zone.name .domain) }}{{ end -}}
{{- end -}}
{{- range regexFindAll "(?m)^[ \\t]*publish[ \\t]+[^ \\t\\n]+" (include "kuadrant.extras" .) -1 -}}
{{- $domains = append $domains (regexFind "[^ \\t]+$" .) -}}
{{- end -}}
{{- $plain := list -}}
{{- range $domains }}{{ $plain = append $plain (trimPrefix "*." . | lower | trimSuffix ".") }}{{ end -}}
{{- toJson $plain -}}
{{- end -}}

{{/* "true" where one of the domains is the zone, or above it: (list domains zone). */}}
{{- define "kuadrant.covers" -}}
{{- $zone := printf ".%s" (index . 1 | lower | trimSuffix ".") -}}
{{- range index . 0 }}{{ if hasSuffix (printf ".%s" .) $zone }}true{{ end }}{{ end -}}
{{- end -}}

{{/* "true" for an address. values.schema.json has what addresses of IPv4 look like; those of IPv6 have 8 groups, or fewer and one `::`. */}}
{{- define "kuadrant.isAddress" -}}
{{- if contains ":" . -}}
{{- $groups := regexReplaceAll ":(([0-9]{1,2}|1[0-9]{2}|2[0-4][0-9]|25[0-5])(\\.|$)){4}$" . ":0:0" -}}
{{- $some := "([0-9a-fA-F]{1,4}(:[0-9a-fA-F]{1,4})*)?" -}}
{{- $number := regexFindAll "[^:]+" $groups -1 | len -}}
{{- if or (and (regexMatch (printf "^%s::%s$" $some $some) $groups) (lt $number 8)) (and (regexMatch (printf "^%s$" $some) $groups) (eq $number 8)) }}true{{ end -}}
{{- else }}true{{ end -}}
{{- end -}}

{{/* What is wrong with values that stand in the Corefile as they are. */}}
{{- define "kuadrant.validateProperties" -}}
{{- $guard := 0.0 -}}
{{- range regexFindAll "[0-9.]+(ms|s|m|h)" (include "kuadrant.guard" .) -1 -}}
{{- $guard = addf $guard (mulf (regexFind "^[0-9.]+" . | float64) (get (dict "ms" 0.001 "s" 1.0 "m" 60.0 "h" 3600.0) (regexFind "[a-z]+$" .))) -}}
{{- end -}}
{{- if gt $guard 86400.0 }}{{ fail (printf "guard is %s: 24h is the most" (include "kuadrant.guard" .)) }}{{ end -}}
{{- $key := "([-.a-z0-9]+/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?" -}}
{{- $value := "([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?" -}}
{{- $term := printf "!?\\s*%s|%s\\s*(=|==|!=)\\s*%s|%s\\s*[<>]\\s*-?[0-9]+|%s\\s+(in|notin)\\s*\\(\\s*%s(\\s*,\\s*%s)*\\s*\\)" $key $key $value $key $key $value $value -}}
{{- if not (regexMatch (printf "^\\s*((%s)\\s*(,\\s*(%s)\\s*)*)?$" $term $term) (default "" .Values.policies)) -}}
{{- fail (printf "policies is %q, which is no label selector: write one such as env in (prod, test)" .Values.policies) -}}
{{- end -}}
{{- range $name, $cidrs := dict "deny" .Values.probes.deny "allow" .Values.probes.allow -}}
{{- range $cidrs -}}
{{- if not (include "kuadrant.isAddress" (regexReplaceAll "/[0-9]+$" . "")) }}{{ fail (printf "probes.%s has %q, which is no CIDR and no address" $name .) }}{{ end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* The plugins that come after *kuadrant* and may answer, as a pattern, and `import`, which may bring one. */}}
{{- define "kuadrant.answering" -}}
hosts|route53|azure|clouddns|k8s_external|kubernetes|file|auto|secondary|etcd|forward|grpc|erratic|whoami|nomad|import
{{- end -}}

{{/* What is wrong with the values as a whole. values.schema.json has what is wrong with each. */}}
{{- define "kuadrant.validate" -}}
{{- $fullname := include "kuadrant.fullname" . -}}
{{- if not (regexMatch "^[a-z]([-a-z0-9]*[a-z0-9])?$" $fullname) -}}
{{- fail (printf "the objects would be called %q, and the name of a Service begins with a letter and has letters, digits and hyphens alone: give the release another name, or set fullnameOverride" $fullname) -}}
{{- end -}}
{{- if not .Values.corefile -}}
{{- if not .Values.zones -}}
{{- fail "zones is empty: name one zone to answer for, such as --set 'zones[0].name=apps.example.com', or write a whole Corefile into corefile" -}}
{{- end -}}
{{- include "kuadrant.validateProperties" . -}}
{{- $seen := dict -}}
{{- $published := dict -}}
{{- range .Values.zones -}}
{{- $zone := .name | lower | trimSuffix "." -}}
{{- if hasKey $seen $zone }}{{ fail (printf "zones: %s is there twice" .name) }}{{ end -}}
{{- $_ := set $seen $zone true -}}
{{- include "kuadrant.validateZone" (list . $ $published) -}}
{{- end -}}
{{- $domains := include "kuadrant.published" . | fromJsonArray -}}
{{- range $zone := .Values.zones -}}
{{- range $domain := $domains -}}
{{- if and (include "kuadrant.covers" (list (list $zone.name) $domain)) (not (include "kuadrant.covers" (list $domains $zone.name))) -}}
{{- fail (printf "zones: publish has %s, a part of %s, and nothing for the rest of the zone: add {namespaces: [NAMESPACE]} to its publish, or {namespaces: [\"*\"]} for every namespace" $domain $zone.name) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- $clusters := dict -}}
{{- range .Values.clusters -}}
{{- if hasKey $clusters .name }}{{ fail (printf "clusters: %s is there twice" .name) }}{{ end -}}
{{- $_ := set $clusters .name true -}}
{{- end -}}
{{- if and .Values.nets.text .Values.nets.configMap }}{{ fail "nets.text and nets.configMap are both given: write one" }}{{ end -}}
{{- if and .Values.overrides.text .Values.overrides.configMap }}{{ fail "overrides.text and overrides.configMap are both given: write one" }}{{ end -}}
{{- if and .Values.console.enabled (not .Values.console.tokenSecret.name) -}}
{{- fail "console.tokenSecret.name is required with console.enabled: a Secret of the release's namespace with a token, for the console is not on loopback" -}}
{{- end -}}
{{- if and (include "kuadrant.isClusterDNS" .) (ne .Release.Namespace "kube-system") (not (include "kuadrant.hasService" .)) -}}
{{- fail (printf "mode clusterDNS in the namespace %s: the Service that a cluster has for its DNS selects pods of kube-system alone. Install with --namespace kube-system, or set service.enabled=true for a Service of its own" .Release.Namespace) -}}
{{- end -}}
{{- $ports := dict -}}
{{- range $name, $port := dict "dns" (include "kuadrant.dnsPort" .) "health" .Values.ports.health "ready" .Values.ports.ready "metrics" .Values.ports.metrics "console" (ternary .Values.console.port -1 .Values.console.enabled) -}}
{{- $number := toString (int $port) -}}
{{- if hasKey $ports $number }}{{ fail (printf "ports: %s and %s are both %s" (get $ports $number) $name $number) }}{{ end -}}
{{- $_ := set $ports $number $name -}}
{{- end -}}
{{- if and .Values.state.enabled (hasKey (default dict .Values.state.volume) "persistentVolumeClaim") (gt (int .Values.replicas) 1) -}}
{{- fail (printf "state.volume is one claim, and replicas is %d: two pods must not share a state. Leave state.volume out, for a volume that goes with the pod, or write one that each pod has for itself, such as hostPath or ephemeral" (int .Values.replicas)) -}}
{{- end -}}
{{- if and (gt (int .Values.hostPort) 0) .Values.hostNetwork }}{{ fail "hostPort and hostNetwork are both given: write one" }}{{ end -}}
{{- end -}}

{{/* The name of the ConfigMap of the Corefile: another text has another name, and so has the same text of another release, for they are kept. */}}
{{- define "kuadrant.corefileName" -}}
{{- printf "%s-corefile-%s" (include "kuadrant.fullname" .) (printf "%s\n%s" .Release.Name (include "kuadrant.corefile" .) | sha256sum | trunc 10) -}}
{{- end -}}

{{/* Labels of CRDs, which belong to the whole cluster and no component. */}}
{{- define "kuadrant.crdLabels" -}}
app.kubernetes.io/name: {{ include "kuadrant.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}
