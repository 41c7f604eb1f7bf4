"""Encodings: protobuf fields around stored bytes, JSON, and the texts of messages."""
