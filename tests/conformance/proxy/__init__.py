"""A gRPC proxy between SDK and server."""
