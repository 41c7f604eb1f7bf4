"""The HTTP port: JSON, Connect, gRPC-Web, probes and metrics."""
