{{/* The pod of a server: the same in a Deployment and in a StatefulSet. */}}
{{- define "threadkeep.pod" -}}
{{- $name := include "threadkeep.name" . -}}
{{- $scheme := ternary "HTTPS" "HTTP" .Values.tls.enabled -}}
{{- $tokens := or .Values.auth.tokens .Values.auth.existingSecret -}}
metadata:
  labels:
    {{- include "threadkeep.selector" . | nindent 4 }}
    app.kubernetes.io/component: server
    {{- with .Values.podLabels }}{{ toYaml . | nindent 4 }}{{ end }}
  annotations:
    # Servers start again when their settings change.
    checksum/settings: {{ include (print $.Template.BasePath "/configmap.yaml") . | sha256sum }}
    checksum/secret: {{ include (print $.Template.BasePath "/secret.yaml") . | sha256sum }}
    {{- with .Values.podAnnotations }}{{ toYaml . | nindent 4 }}{{ end }}
spec:
  serviceAccountName: {{ include "threadkeep.serviceAccount" . }}
  automountServiceAccountToken: false
  # Variables of the Service would look like settings.
  enableServiceLinks: false
  terminationGracePeriodSeconds: {{ .Values.terminationGracePeriodSeconds }}
  {{- with .Values.image.pullSecrets }}
  imagePullSecrets: {{ toYaml . | nindent 4 }}
  {{- end }}
  securityContext: {{ include "threadkeep.podSecurity" . | nindent 4 }}
  containers:
    - name: server
      image: {{ include "threadkeep.image" . | quote }}
      imagePullPolicy: {{ .Values.image.pullPolicy }}
      securityContext: {{ include "threadkeep.containerSecurity" . | nindent 8 }}
      ports:
        - {name: grpc, containerPort: 7443}
        - {name: http, containerPort: 7480}
        - {name: admin, containerPort: 7490}
      envFrom:
        - configMapRef: {name: {{ $name }}}
        {{- with .Values.envFrom }}{{ toYaml . | nindent 8 }}{{ end }}
      {{- if not (include "threadkeep.sqlite" .) }}
      env: {{ include "threadkeep.databaseUrl" . | nindent 8 }}
      {{- end }}
      startupProbe:
        httpGet: {path: /readyz, port: admin, scheme: {{ $scheme }}}
        periodSeconds: 2
        failureThreshold: 150
      readinessProbe:
        httpGet: {path: /readyz, port: admin, scheme: {{ $scheme }}}
        periodSeconds: 5
        timeoutSeconds: 4
        failureThreshold: 2
      livenessProbe:
        httpGet: {path: /healthz, port: admin, scheme: {{ $scheme }}}
        periodSeconds: 10
        timeoutSeconds: 5
        failureThreshold: 3
      {{- if .Values.preStopSeconds }}
      lifecycle:
        preStop:
          exec: {command: [sleep, {{ .Values.preStopSeconds | quote }}]}
      {{- end }}
      resources: {{ toYaml .Values.resources | nindent 8 }}
      volumeMounts:
        - {name: data, mountPath: /var/lib/threadkeep}
        - {name: tmp, mountPath: /tmp}
        {{- if $tokens }}
        - {name: tokens, mountPath: /etc/threadkeep/tokens, readOnly: true}
        {{- end }}
        {{- if .Values.tls.enabled }}
        - {name: tls, mountPath: /etc/threadkeep/tls, readOnly: true}
        {{- end }}
  volumes:
    {{- if not (include "threadkeep.sqlite" .) }}
    - {name: data, emptyDir: {}}
    {{- end }}
    - {name: tmp, emptyDir: {}}
    {{- if $tokens }}
    - name: tokens
      secret:
        secretName: {{ .Values.auth.existingSecret | default $name }}
        defaultMode: 0440
        items: [{key: {{ ternary .Values.auth.key "tokens.toml" (ne .Values.auth.existingSecret "") }}, path: tokens.toml}]
    {{- end }}
    {{- if .Values.tls.enabled }}
    - name: tls
      secret: {secretName: {{ .Values.tls.existingSecret }}, defaultMode: 0440}
    {{- end }}
  {{- with .Values.nodeSelector }}
  nodeSelector: {{ toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.tolerations }}
  tolerations: {{ toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.affinity }}
  affinity: {{ toYaml . | nindent 4 }}
  {{- end }}
  topologySpreadConstraints:
    {{- if kindIs "slice" .Values.topologySpreadConstraints }}
    {{- toYaml .Values.topologySpreadConstraints | nindent 4 }}
    {{- else }}
    - maxSkew: 1
      topologyKey: kubernetes.io/hostname
      whenUnsatisfiable: ScheduleAnyway
      labelSelector: {matchLabels: {{ include "threadkeep.selector" . | fromYaml | toJson }}}
    {{- end }}
{{- end }}
