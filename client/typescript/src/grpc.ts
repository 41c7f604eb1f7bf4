import type { SecureClientSessionOptions } from "node:http2";

import type { Transport } from "@connectrpc/connect";
import { createGrpcTransport, Http2SessionManager } from "@connectrpc/connect-node";

/** The largest message sent or received. */
const MAX_MESSAGE_BYTES = 64 * 1024 * 1024;
const KEEPALIVE = { pingIntervalMs: 30_000, pingTimeoutMs: 10_000 };
/** Node's HTTP/2 takes 10 MB a connection and 64 KiB a stream, which is less than one large message. */
const MEMORY = { maxSessionMemory: 4 * (MAX_MESSAGE_BYTES / 1_000_000), settings: { initialWindowSize: 1024 * 1024 } };

/** A connection to "host:port", and what ends it. */
export function grpcTransport(address: string, tls: boolean | SecureClientSessionOptions): [Transport, () => void] {
  const baseUrl = `${tls ? "https" : "http"}://${address}`;
  const sessionManager = new Sessions(baseUrl, KEEPALIVE, { ...MEMORY, ...(typeof tls === "object" && tls) });
  const limits = { readMaxBytes: MAX_MESSAGE_BYTES, writeMaxBytes: MAX_MESSAGE_BYTES };
  return [createGrpcTransport({ baseUrl, sessionManager, ...limits }), () => sessionManager.abort()];
}

/**
 * Connect removes its listener before a session that fails has said so. An error event without a listener ends the process, for
 * example when what answers is no HTTP/2 server.
 */
class Sessions extends Http2SessionManager {
  override async request(...args: Parameters<Http2SessionManager["request"]>) {
    const stream = await super.request(...args);
    if (stream.session?.listeners("error").includes(ignore) === false) stream.session.on("error", ignore);
    return stream;
  }
}

const ignore = () => {};
