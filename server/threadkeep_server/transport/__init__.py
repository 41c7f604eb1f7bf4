"""The wire: the only layer that knows grpc, protobuf and HTTP."""
