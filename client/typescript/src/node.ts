// The client for Node: gRPC over HTTP/2.

import type { SecureClientSessionOptions } from "node:http2";

import { Client } from "./client.js";
import { checkToken, placeOf } from "./rpc/address.js";
import { grpcTransport } from "./rpc/grpc.js";
import type { ClientOptions } from "./rpc/settings.js";

export * from "./index.js";

/** Default port of the server's gRPC API. */
const GRPC_PORT = 7443;

/**
 * Options of `connect` on Node. The address is "host:port" of the server's gRPC port or "host" for port 7443, after "https://"
 * for TLS. Default: the value of THREADKEEP_ADDRESS, else 127.0.0.1:7443.
 */
export interface ConnectOptions extends ClientOptions {
  /**
   * TLS: true for the system's roots, or Node's options (`ca`, `cert`, `key`, ...). Default: on for an https address, else off.
   */
  tls?: boolean | SecureClientSessionOptions;
}

/**
 * Creates a client. Nothing is sent before the first call. The token defaults to the value of THREADKEEP_TOKEN. Throws
 * TypeError for an invalid address, a scheme that contradicts `tls`, or a token that would be sent unencrypted.
 */
export function connect(options: ConnectOptions = {}): Client {
  const { token = process.env["THREADKEEP_TOKEN"] } = options;
  const place = placeOf(options.address || process.env["THREADKEEP_ADDRESS"] || "127.0.0.1", GRPC_PORT);
  const tls = options.tls ?? place.tls ?? false;
  if (place.tls !== undefined && place.tls !== Boolean(tls)) throw new TypeError("the scheme of the address contradicts the option tls");
  checkToken(place.authority, Boolean(tls), token, options.allowPlaintextToken);
  return new Client(...grpcTransport(place.authority, tls, options.interceptors), { ...options, address: place.authority, token });
}
