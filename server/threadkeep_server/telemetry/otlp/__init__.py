"""Traces and metrics over OTLP: the only package that uses the libraries of OpenTelemetry, which are optional."""
