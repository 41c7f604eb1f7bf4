"""Conversations in Threadkeep: event ids, turns, filters and triggers."""
