"""The conformance suite's own machinery, without drivers and servers."""
