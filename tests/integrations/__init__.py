"""The adapters of frameworks, tested in environments of their own: frameworks exclude each other's versions and ours."""
