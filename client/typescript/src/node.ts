// The client on Node: gRPC over HTTP/2.

import type { SecureClientSessionOptions } from "node:http2";

import { checkToken, placeOf } from "./address.js";
import { Client, type ClientOptions } from "./client.js";
import { grpcTransport } from "./grpc.js";

export * from "./index.js";

/** The port of a server's gRPC API where an address names none. */
const GRPC_PORT = 7443;

/**
 * What `connect` takes on Node. The address is "host:port" of the server's gRPC port, "host" alone for port 7443, or either after
 * "https://" for TLS; by default it is the value of THREADKEEP_ADDRESS, else 127.0.0.1:7443.
 */
export interface ConnectOptions extends ClientOptions {
  /** TLS: true with the system's roots, or Node's options (`ca`, `cert`, `key`, ...). By default on for an https address, else off. */
  tls?: boolean | SecureClientSessionOptions;
}

/**
 * A client of a server. Nothing is sent before the first call. The token is by default the value of THREADKEEP_TOKEN. Throws
 * TypeError for an address that is none, for a scheme that contradicts `tls`, and for a token that would go unencrypted.
 */
export function connect(options: ConnectOptions = {}): Client {
  const { token = process.env["THREADKEEP_TOKEN"] } = options;
  const place = placeOf(options.address || process.env["THREADKEEP_ADDRESS"] || "127.0.0.1", GRPC_PORT);
  const tls = options.tls ?? place.tls ?? false;
  if (place.tls !== undefined && place.tls !== Boolean(tls)) throw new TypeError("the scheme of the address contradicts the option tls");
  checkToken(place.authority, Boolean(tls), token, options.allowPlaintextToken);
  return new Client(...grpcTransport(place.authority, tls), { ...options, address: place.authority, token });
}
