"""What a server needs, measured: `python -m tests.sizing`. The figures of docs/operations/sizing.md are from here."""
