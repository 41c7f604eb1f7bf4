"""Summarizers: one protocol, adapters of providers, and limits."""
