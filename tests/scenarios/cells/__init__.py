"""A fleet of cells, simulated: `python -m tests.scenarios.cells`. docs/operations/scaling.md describes what it models."""
