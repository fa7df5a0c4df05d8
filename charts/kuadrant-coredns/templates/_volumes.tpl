{{/* Labels of pods: what selects them last, so that nothing takes its place. */}}
{{- define "kuadrant.podLabels" -}}
{{- $labels := deepCopy (default dict .Values.commonLabels) -}}
{{- if include "kuadrant.isClusterDNS" . }}{{ $labels = mergeOverwrite $labels (default dict .Values.clusterDNS.podLabels) }}{{ end -}}
{{- $labels = mergeOverwrite $labels (default dict .Values.podLabels) (include "kuadrant.selectorLabels" . | fromYaml) -}}
{{- toYaml $labels -}}
{{- end -}}

{{/* The Secrets that a feature of zones uses, as a list in JSON: (dict feature zones). */}}
{{- define "kuadrant.secretsOfZones" -}}
{{- $names := list -}}
{{- $feature := .feature -}}
{{- range .zones -}}
{{- with get . $feature }}{{ $names = append $names .secretName }}{{ end -}}
{{- end -}}
{{- $names | uniq | toJson -}}
{{- end -}}

{{- define "kuadrant.mounts" -}}
- {name: corefile, mountPath: /etc/coredns, readOnly: true}
- {name: overrides, mountPath: /etc/kuadrant, readOnly: true}
{{- if .Values.state.enabled }}
- {name: state, mountPath: /var/lib/kuadrant}
{{- end }}
{{- if or .Values.nets.text .Values.nets.configMap }}
- {name: nets, mountPath: /etc/kuadrant-nets, readOnly: true}
{{- end }}
{{- range $feature := list "tsig" "dnssec" }}
{{- range $i, $secret := include "kuadrant.secretsOfZones" (dict "feature" $feature "zones" $.Values.zones) | fromJsonArray }}
- {name: {{ $feature }}-{{ $i }}, mountPath: /etc/kuadrant-{{ $feature }}/{{ $secret }}, readOnly: true}
{{- end }}
{{- end }}
{{- range $i, $cluster := .Values.clusters }}
- {name: cluster-{{ $i }}, mountPath: /etc/kuadrant-clusters/{{ $cluster.name }}, readOnly: true}
{{- end }}
{{- if .Values.console.enabled }}
- {name: console, mountPath: /etc/kuadrant-console, readOnly: true}
{{- end }}
{{- with .Values.extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "kuadrant.volumes" -}}
- name: corefile
  configMap:
    name: {{ include "kuadrant.corefileName" . }}
# Manual overrides, in the key `overrides`; without it there are none.
- name: overrides
  configMap:
    name: {{ default (printf "%s-overrides" (include "kuadrant.fullname" .)) .Values.overrides.configMap }}
    optional: true
{{- if .Values.state.enabled }}
# It outlives a container that crashes. The limit is there to protect the node, for a pod that exceeds it is ended.
- name: state
  {{- if .Values.state.volume }}
  {{- toYaml .Values.state.volume | nindent 2 }}
  {{- else }}
  emptyDir:
    sizeLimit: {{ .Values.state.sizeLimit }}
  {{- end }}
{{- end }}
{{- if or .Values.nets.text .Values.nets.configMap }}
- name: nets
  configMap:
    name: {{ default (printf "%s-nets" (include "kuadrant.fullname" .)) .Values.nets.configMap }}
{{- end }}
{{- range $feature := list "tsig" "dnssec" }}
{{- range $i, $secret := include "kuadrant.secretsOfZones" (dict "feature" $feature "zones" $.Values.zones) | fromJsonArray }}
- name: {{ $feature }}-{{ $i }}
  secret:
    secretName: {{ $secret }}
    defaultMode: 0440
{{- end }}
{{- end }}
{{- range $i, $cluster := .Values.clusters }}
- name: cluster-{{ $i }}
  secret:
    secretName: {{ $cluster.secretName }}
    defaultMode: 0440
    items:
    - {key: {{ default "kubeconfig" $cluster.key }}, path: kubeconfig}
{{- end }}
{{- if .Values.console.enabled }}
- name: console
  secret:
    secretName: {{ .Values.console.tokenSecret.name }}
    defaultMode: 0440
    items:
    - {key: {{ .Values.console.tokenSecret.key }}, path: token}
{{- end }}
{{- with .Values.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end -}}
