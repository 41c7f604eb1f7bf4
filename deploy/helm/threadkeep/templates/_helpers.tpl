{{- define "threadkeep.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name | trunc 50 | trimSuffix "-" }}{{ else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 50 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "threadkeep.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "threadkeep.labels" -}}
{{ include "threadkeep.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{- define "threadkeep.image" -}}
{{- $image := .Values.image -}}
{{- if $image.digest }}{{ $image.repository }}@{{ $image.digest }}{{ else }}{{ $image.repository }}:{{ $image.tag | default .Chart.AppVersion }}{{ end }}
{{- end }}

{{- define "threadkeep.serviceAccount" -}}
{{- if .Values.serviceAccount.create }}{{ .Values.serviceAccount.name | default (include "threadkeep.name" .) }}{{ else }}{{ .Values.serviceAccount.name | default "default" }}{{ end }}
{{- end }}

{{- define "threadkeep.sqlite" -}}
{{- if eq .Values.database.engine "sqlite" }}true{{ end }}
{{- end }}

{{/* Values that no schema can refuse alone, since they depend on each other. */}}
{{- define "threadkeep.check" -}}
{{- $auth := .Values.auth -}}
{{- if and (not (include "threadkeep.sqlite" .)) (not (or .Values.database.url .Values.database.existingSecret)) }}
{{- fail "set database.existingSecret or database.url, or database.engine to sqlite" }}
{{- end }}
{{- if not (or $auth.tokens $auth.existingSecret $auth.oidc.issuer .Values.tls.clients $auth.insecure) }}
{{- fail "set auth.existingSecret, auth.tokens or auth.oidc.issuer, or auth.insecure in a closed network" }}
{{- end }}
{{- if and $auth.oidc.issuer (not $auth.oidc.audience) }}
{{- fail "auth.oidc.issuer requires auth.oidc.audience" }}
{{- end }}
{{- if gt (add .Values.preStopSeconds 5) (int .Values.terminationGracePeriodSeconds) }}
{{- fail "terminationGracePeriodSeconds must be at least preStopSeconds and 5 more" }}
{{- end }}
{{- if and .Values.autoscaling.enabled (not (or .Values.autoscaling.cpu .Values.autoscaling.callsInFlight)) }}
{{- fail "autoscaling requires autoscaling.cpu or autoscaling.callsInFlight" }}
{{- end }}
{{- end }}

{{- define "threadkeep.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
fsGroupChangePolicy: OnRootMismatch
seccompProfile: {type: RuntimeDefault}
{{- end }}

{{- define "threadkeep.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end }}

{{- define "threadkeep.databaseUrl" -}}
- name: THREADKEEP_DATABASE_URL
  valueFrom:
    secretKeyRef:
      name: {{ .Values.database.existingSecret | default (include "threadkeep.name" .) }}
      key: {{ if .Values.database.existingSecret }}{{ .Values.database.key }}{{ else }}url{{ end }}
{{- end }}
