"""The Store contract: what the services require of every store."""
