"""Conversion between protobuf messages and the domain."""
