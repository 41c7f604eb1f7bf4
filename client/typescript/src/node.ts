// The client on Node: gRPC over HTTP/2.

import type { SecureClientSessionOptions } from "node:http2";

import { Client, type ClientOptions } from "./client.js";
import { grpcTransport } from "./grpc.js";

export * from "./index.js";

/** What `connect` is told on Node. The address is "host:port", by default the value of THREADKEEP_ADDRESS, else 127.0.0.1:7443. */
export interface ConnectOptions extends ClientOptions {
  /** TLS: true with the system's roots, or Node's options (`ca`, `cert`, `key`, ...). Off by default. */
  tls?: boolean | SecureClientSessionOptions;
}

/** A client of a server. Nothing is sent before the first call. The token is by default the value of THREADKEEP_TOKEN. */
export function connect(options: ConnectOptions = {}): Client {
  const { tls = false, token = process.env["THREADKEEP_TOKEN"] } = options;
  const address = options.address || process.env["THREADKEEP_ADDRESS"] || "127.0.0.1:7443";
  return new Client(...grpcTransport(address, tls), { ...options, address, token });
}
