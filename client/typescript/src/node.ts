// The client on Node: gRPC over HTTP/2.

import type { SecureClientSessionOptions } from "node:http2";

import { createGrpcTransport, Http2SessionManager } from "@connectrpc/connect-node";

import { baseUrl, clientOn } from "./connecting.js";
import type { Client } from "./client.js";
import type { ClientOptions } from "./options.js";
import { MAX_MESSAGE_BYTES } from "./transport.js";

export * from "./index.js";

const KEEPALIVE = { pingIntervalMs: 30_000, pingTimeoutMs: 10_000 };
/** Node's HTTP/2 takes 10 MB a connection and 64 KiB a stream, which is less than one large message. */
const MEMORY = { maxSessionMemory: 4 * (MAX_MESSAGE_BYTES / 1_000_000), settings: { initialWindowSize: 1024 * 1024 } };

/** What `connect` is told on Node. */
export interface ConnectOptions extends ClientOptions {
  /** "host:port", or an http or https URL; by default the value of RECOLLECT_ADDRESS, else 127.0.0.1:7443. */
  address?: string;
  /** By default the value of RECOLLECT_TOKEN; empty for none. */
  token?: string;
  /** TLS: true with the system's roots, or Node's options (`ca`, `cert`, `key`, ...). Off by default, unless the address is an https URL. */
  tls?: boolean | SecureClientSessionOptions;
}

/** A client of a server. Nothing is sent before the first call. */
export function connect(options: ConnectOptions = {}): Client {
  const { tls = false, transport, token = process.env["RECOLLECT_TOKEN"] ?? "" } = options;
  const address = options.address || process.env["RECOLLECT_ADDRESS"] || "127.0.0.1:7443";
  const url = baseUrl(address, tls !== false);
  if (transport !== undefined) return clientOn(transport(url), () => {}, { ...options, address, token });
  const sessionManager = new Http2SessionManager(url, KEEPALIVE, { ...MEMORY, ...(typeof tls === "object" ? tls : {}) });
  const grpc = createGrpcTransport({
    baseUrl: url,
    sessionManager,
    readMaxBytes: MAX_MESSAGE_BYTES,
    writeMaxBytes: MAX_MESSAGE_BYTES,
  });
  return clientOn(grpc, () => sessionManager.abort(), { ...options, address, token });
}
