{{- define "cronty.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name }}{{ else }}{{ .Release.Name }}-{{ .Chart.Name }}{{ end -}}
{{- end }}

{{/* What a Deployment and a Service find their pods by; takes a list of the root and the part's name. */}}
{{- define "cronty.selector" -}}
{{- $root := index . 0 -}}
app.kubernetes.io/name: {{ $root.Chart.Name }}
app.kubernetes.io/instance: {{ $root.Release.Name }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end }}

{{- define "cronty.labels" -}}
{{- $root := index . 0 -}}
{{ include "cronty.selector" . }}
app.kubernetes.io/version: {{ $root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ $root.Release.Service }}
helm.sh/chart: {{ $root.Chart.Name }}-{{ $root.Chart.Version }}
{{- end }}

{{/* Of a pod: nothing of the cluster, no root. */}}
{{- define "cronty.pod" -}}
automountServiceAccountToken: false
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  fsGroup: 10001
  seccompProfile: {type: RuntimeDefault}
volumes:
  - name: secrets
    secret: {secretName: {{ .Values.secret | quote }}, defaultMode: 0440}
  - name: tmp
    emptyDir: {sizeLimit: 64Mi}
{{- end }}

{{/* Of a container: the image, the settings, the secrets as files. */}}
{{- define "cronty.container" -}}
image: "{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}"
imagePullPolicy: {{ .Values.image.pullPolicy }}
env:
  - {name: CRONTY_DATABASE_URL_FILE, value: /etc/cronty/database_url}
  - {name: CRONTY_SECRET_KEY_FILE, value: /etc/cronty/secret_key}
  - {name: CRONTY_PUBLIC_URL, value: {{ .Values.publicUrl | quote }}}
  - {name: CRONTY_DRAIN, value: {{ .Values.drain | quote }}}
  - {name: CRONTY_METRICS_PORT, value: "9125"}
  - {name: CRONTY_METRICS_HOST, value: 0.0.0.0}
  - {name: CRONTY_LOG_FORMAT, value: json}
  {{- range $name, $value := .Values.settings }}
  - {name: {{ $name }}, value: {{ $value | quote }}}
  {{- end }}
volumeMounts:
  - {name: secrets, mountPath: /etc/cronty, readOnly: true}
  - {name: tmp, mountPath: /tmp}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
{{- end }}

{{/* /health alone restarts: an outage of the database isn't mended by a restart. */}}
{{- define "cronty.probes" -}}
startupProbe:
  httpGet: {path: /health, port: metrics}
  periodSeconds: 2
  failureThreshold: 60
livenessProbe:
  httpGet: {path: /health, port: metrics}
  timeoutSeconds: 5
readinessProbe:
  httpGet: {path: /ready, port: metrics}
  timeoutSeconds: 5
{{- end }}

{{/* Takes a list of the root and the part's name. A pod that isn't ready may always go: it holds up no drain of a node. */}}
{{- define "cronty.budget" -}}
{{- $root := index . 0 -}}
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ include "cronty.name" $root }}-{{ index . 1 }}
  labels: {{- include "cronty.labels" . | nindent 4 }}
spec:
  maxUnavailable: 1
  unhealthyPodEvictionPolicy: AlwaysAllow
  selector:
    matchLabels: {{- include "cronty.selector" . | nindent 6 }}
{{- end }}
