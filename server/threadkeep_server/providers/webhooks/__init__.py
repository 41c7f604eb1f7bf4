"""Webhooks: signed HTTP requests to configured endpoints."""
