"""Subscriptions: one tail reads the feed for all who follow it."""
