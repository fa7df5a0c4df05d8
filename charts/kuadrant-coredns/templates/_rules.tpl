{{/* The rules of config/rbac, which the tests compare with these one by one; what each opens is told in docs/security.md. */}}

{{/* Reading the objects. Each kind is listed once and watched from then on. */}}
{{- define "kuadrant.rules.read" -}}
{{- range $kind := list
    (list "Gateway" "gateway.networking.k8s.io" "gateways")
    (list "DNSPolicy" "kuadrant.io" "dnspolicies")
    (list "Zone" "kubi.zone" "zones")
    (list "Record" "kubi.zone" "records")
    (list "DNSRecord" "kuadrant.io" "dnsrecords")
    (list "DNSEndpoint" "externaldns.k8s.io" "dnsendpoints")
    (list "DNSHealthCheckProbe" "kuadrant.io" "dnshealthcheckprobes") }}
{{- if include "kuadrant.reads" (list (index $kind 0) $) }}
- apiGroups: [{{ index $kind 1 }}]
  resources: [{{ index $kind 2 }}]
  verbs: [list, watch]
{{- end }}
{{- end }}
{{- end -}}

{{/* The UID of kube-system names the cluster in the chains of weightedGeo hosts. */}}
{{- define "kuadrant.rules.uid" -}}
- apiGroups: [""]
  resources: [namespaces]
  resourceNames: [kube-system]
  verbs: [get]
{{- end -}}

{{/* What is installed, whether the API server has started, and whether it is alive. */}}
{{- define "kuadrant.rules.paths" -}}
- nonResourceURLs: [/apis, /apis/*, /livez, /readyz]
  verbs: [get]
{{- end -}}

{{/* Secrets: names and labels are listed, and the contents fetched of those that are referred to. RBAC cannot say so: it opens every one. */}}
{{- define "kuadrant.rules.secrets" -}}
- apiGroups: [""]
  resources: [secrets]
  verbs: [list, watch]
- apiGroups: [""]
  resources: [secrets]
  verbs: [get]
{{- end -}}

{{/* Secrets with kubeconfigs of other clusters, in the namespace of the Lease. */}}
{{- define "kuadrant.rules.clusters" -}}
- apiGroups: [""]
  resources: [secrets]
  verbs: [list, watch]
{{- end -}}

{{/* Writing back. It goes by server-side apply, which is the verb patch, and create where the object is not there yet. */}}
{{- define "kuadrant.rules.write" -}}
# What became of each object.
- apiGroups: [kuadrant.io]
  resources: [dnspolicies/status, dnsrecords/status, dnshealthcheckprobes/status]
  verbs: [patch]
- apiGroups: [kubi.zone]
  resources: [zones/status, records/status]
  verbs: [patch]
# The condition kuadrant.io/DNSPolicyAffected.
- apiGroups: [gateway.networking.k8s.io]
  resources: [gateways/status]
  verbs: [patch]
{{- if eq (include "kuadrant.writeBack" .) "all" }}
# The label kubi.zone/parent-zone. RBAC cannot limit this to a label: it opens the whole object.
- apiGroups: [kubi.zone]
  resources: [zones, records]
  verbs: [patch]
# The children of policies. RBAC cannot limit this to these: it opens everybody's.
- apiGroups: [kuadrant.io]
  resources: [dnsrecords, dnshealthcheckprobes]
  verbs: [create, patch, delete]
{{- end }}
{{ include "kuadrant.rules.events" . }}
{{- end -}}

{{/* An event that repeats is counted in the one that is there: patch. */}}
{{- define "kuadrant.rules.events" -}}
- apiGroups: [""]
  resources: [events]
  verbs: [create, patch]
{{- end -}}

{{/* Whether kuadrant-operator or dns-operator are at work: these are their Leases. What they write is left to them. */}}
{{- define "kuadrant.rules.operators" -}}
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  resourceNames: [f139389e.kuadrant.io, a3f98d6c.kuadrant.io]
  verbs: [list]
{{- end -}}

{{/* What the elected server keeps in the namespace of its Lease. RBAC knows no names of objects that do not exist yet: create has none. The
ConfigMaps have who owns which name and the serials of zones; there are as many as they need. */}}
{{- define "kuadrant.rules.lease" -}}
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  verbs: [create]
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  resourceNames: [{{ include "kuadrant.leaseName" . }}]
  verbs: [get, update]
- apiGroups: [""]
  resources: [configmaps]
  verbs: [list, watch, create, update]
{{- end -}}

{{/* What the plugin *kubernetes* reads for the cluster's own names. */}}
{{- define "kuadrant.rules.names" -}}
- apiGroups: [""]
  resources: [services, namespaces{{ if eq .Values.clusterDNS.pods "verified" }}, pods{{ end }}]
  verbs: [list, watch]
- apiGroups: [discovery.k8s.io]
  resources: [endpointslices]
  verbs: [list, watch]
{{- end -}}

{{/* A ClusterRole of some rules, and its binding: (list part rules root). */}}
{{- define "kuadrant.clusterRole" -}}
{{- $root := index . 2 }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: {{ include "kuadrant.roleName" (list (index . 0) $root) | quote }}
  labels:
    {{- include "kuadrant.labels" $root | nindent 4 }}
rules:
{{ index . 1 | trim }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: {{ include "kuadrant.roleName" (list (index . 0) $root) | quote }}
  labels:
    {{- include "kuadrant.labels" $root | nindent 4 }}
{{ include "kuadrant.binds" (list "ClusterRole" (index . 0) $root) }}
{{ end -}}

{{/* A Role of some rules in a namespace, and its binding: (list part rules root namespace). */}}
{{- define "kuadrant.role" -}}
{{- $root := index . 2 }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: {{ include "kuadrant.roleName" (list (index . 0) $root) | quote }}
  namespace: {{ index . 3 }}
  labels:
    {{- include "kuadrant.labels" $root | nindent 4 }}
rules:
{{ index . 1 | trim }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: {{ include "kuadrant.roleName" (list (index . 0) $root) | quote }}
  namespace: {{ index . 3 }}
  labels:
    {{- include "kuadrant.labels" $root | nindent 4 }}
{{ include "kuadrant.binds" (list "Role" (index . 0) $root) }}
{{ end -}}
