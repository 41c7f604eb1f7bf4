import type { SecureClientSessionOptions } from "node:http2";

import type { Interceptor, Transport } from "@connectrpc/connect";
import { createGrpcTransport, Http2SessionManager } from "@connectrpc/connect-node";

import { VERSION } from "../version.js";

/** Maximum size of a message, in bytes, sent or received. */
const MAX_MESSAGE_BYTES = 64 * 1024 * 1024;
const KEEPALIVE = { pingIntervalMs: 30_000, pingTimeoutMs: 10_000 };
/** Node's HTTP/2 defaults are 10 MB per connection and 64 KiB per stream, less than one large message. */
const MEMORY = { maxSessionMemory: 4 * (MAX_MESSAGE_BYTES / 1_000_000), settings: { initialWindowSize: 1024 * 1024 } };

/** Returns a transport to "host:port" and a function that closes it. */
export function grpcTransport(
  address: string,
  tls: boolean | SecureClientSessionOptions,
  interceptors: Interceptor[] = [],
): [Transport, () => void] {
  const baseUrl = `${tls ? "https" : "http"}://${address}`;
  const sessionManager = new Sessions(baseUrl, KEEPALIVE, { ...MEMORY, ...(typeof tls === "object" && tls) });
  const limits = { readMaxBytes: MAX_MESSAGE_BYTES, writeMaxBytes: MAX_MESSAGE_BYTES };
  return [createGrpcTransport({ baseUrl, sessionManager, interceptors: [named, ...interceptors], ...limits }), () => sessionManager.abort()];
}

/** Sets the user agent. */
const named: Interceptor = (next) => (request) => {
  request.header.set("user-agent", `threadkeep-typescript/${VERSION}`);
  return next(request);
};

/**
 * Keeps an error listener on failed sessions. Connect removes its listener before the session emits the error, and an error
 * event without a listener ends the process, for example if the peer is not an HTTP/2 server.
 */
class Sessions extends Http2SessionManager {
  override async request(...args: Parameters<Http2SessionManager["request"]>) {
    const stream = await super.request(...args);
    if (stream.session?.listeners("error").includes(ignore) === false) stream.session.on("error", ignore);
    return stream;
  }
}

const ignore = () => {};
