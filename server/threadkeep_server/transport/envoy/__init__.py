"""gRPC as an ASGI app, for a front end that serves HTTP/2 with trailers."""
