"""Verification: reads a whole database and reports what contradicts itself."""
