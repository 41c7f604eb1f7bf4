"""The conformance suite; its README says what it holds."""
