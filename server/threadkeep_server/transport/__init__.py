"""The transport: the only layer that uses gRPC, protobuf and HTTP."""
