# Generated from _async by `make sync-client`. Do not edit.
"""The parts that call models, tools and servers. The synchronous ones are generated from these."""
