"""Spans, metrics and log lines of conversations."""
