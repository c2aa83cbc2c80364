{{- define "lynq.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- /* What all names begin with; 26 characters are left for the longest ending. */ -}}
{{- define "lynq.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 26 | trimSuffix "-" -}}
{{- else if contains (include "lynq.name" .) .Release.Name -}}
{{- .Release.Name | trunc 26 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "lynq.name" .) | trunc 26 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "lynq.namespace" -}}
{{- default .Release.Namespace .Values.namespace.name -}}
{{- end -}}

{{- define "lynq.account" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (printf "%s-controller-manager" (include "lynq.fullname" .)) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "lynq.image" -}}
{{- if not .Values.image.repository -}}
{{- fail "image.repository is not set, and no image is published: build one with `make image`, push it to your registry, and set image.registry and image.repository to it" -}}
{{- end -}}
{{- $name := printf "%s/%s" (.Values.image.registry | default "") .Values.image.repository -}}
{{- if regexMatch "(^|/)k8s-lynq/" $name -}}
{{- fail (printf "image %s is the image of the Go operator: set image.registry and image.repository to this operator's image, also with --reuse-values" (trimPrefix "/" $name)) -}}
{{- end -}}
{{- trimPrefix "/" $name }}:{{ default .Chart.AppVersion .Values.image.tag }}{{ with .Values.image.digest }}@{{ . }}{{ end }}
{{- end -}}

{{- /* These two lead from Services to pods. A second release in one namespace needs a nameOverride. */ -}}
{{- define "lynq.selector" -}}
app.kubernetes.io/name: {{ include "lynq.name" . }}
control-plane: controller-manager
{{- end -}}

{{- define "lynq.labels" -}}
app.kubernetes.io/name: {{ include "lynq.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- /* The annotations of an object: those that all have, and the given ones. (list context map) */ -}}
{{- define "lynq.annotations" -}}
{{- $all := merge (dict) (default (dict) (index . 1)) (index . 0).Values.commonAnnotations -}}
{{- with $all }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- /* Labels, annotations, name and namespace of an object. (list context ending) */ -}}
{{- define "lynq.metadata" -}}
{{- $context := index . 0 -}}
name: {{ include "lynq.fullname" $context }}-{{ index . 1 }}
namespace: {{ include "lynq.namespace" $context }}
{{ include "lynq.cluster" $context }}
{{- end -}}

{{- define "lynq.cluster" -}}
labels:
  {{- include "lynq.labels" . | nindent 2 }}
{{- include "lynq.annotations" (list . (dict)) }}
{{- end -}}

{{- define "lynq.subject" -}}
subjects:
- kind: ServiceAccount
  name: {{ include "lynq.account" . }}
  namespace: {{ include "lynq.namespace" . }}
{{- end -}}

{{- define "lynq.metricsOn" -}}
{{- if ne .Values.manager.metricsBindAddress "0" }}true{{ end -}}
{{- end -}}

{{- define "lynq.healthOn" -}}
{{- if ne .Values.manager.healthProbeBindAddress "0" }}true{{ end -}}
{{- end -}}

{{- define "lynq.certManager" -}}
{{- if and .Values.webhook.enabled .Values.certManager.enabled }}true{{ end -}}
{{- end -}}

{{/* The metrics endpoint asks for a token: also with `--reuse-values` of a chart without this value. */}}
{{- define "lynq.metricsSecure" -}}
{{- if ne (toString .Values.manager.metricsSecure) "false" }}true{{ end -}}
{{- end }}

{{/* The peers of a network policy: the list `from`, and the selectors of the Go operator's chart. */}}
{{- define "lynq.peers" -}}
{{- $peers := .from | default list }}
{{- if or (hasKey . "namespaceSelector") (hasKey . "podSelector") }}
{{- $peers = append $peers (pick . "namespaceSelector" "podSelector") }}
{{- end }}
{{- toYaml $peers }}
{{- end }}

{{/* The labels that no Namespace of a form may have: of pod security, and those that the network policies select. */}}
{{- define "lynq.deniedLabels" -}}
{{- $keys := list "pod-security.kubernetes.io/*" }}
{{- range $name := list "metrics" "webhook" }}
{{- range $peer := include "lynq.peers" (get ($.Values.networkPolicy | default dict) $name | default dict) | fromYamlArray }}
{{- $selector := $peer.namespaceSelector | default dict }}
{{- $keys = concat $keys (keys ($selector.matchLabels | default dict) | sortAlpha) }}
{{- range $selector.matchExpressions }}
{{- $keys = append $keys .key }}
{{- end }}
{{- end }}
{{- end }}
{{- join "," (uniq $keys) }}
{{- end }}

{{- /* From the dashboard's Service to its pods, which are no pods of the operator. */ -}}
{{- define "lynq.dashboardSelector" -}}
app.kubernetes.io/name: {{ include "lynq.name" . }}
control-plane: dashboard
{{- end -}}

{{- define "lynq.dashboardSubject" -}}
subjects:
- kind: ServiceAccount
  name: {{ include "lynq.fullname" . }}-dashboard
  namespace: {{ include "lynq.namespace" . }}
{{- end -}}
