"""The values that clients return. Each wraps a protobuf message, which stays available as `pb`."""
