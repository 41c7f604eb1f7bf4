// The client for browsers and other environments with fetch: Connect or gRPC-Web over the server's HTTP port.

import { createConnectTransport, createGrpcWebTransport } from "@connectrpc/connect-web";

import { Client } from "./client.js";
import { checkToken, placeOf } from "./rpc/address.js";
import type { ClientOptions } from "./rpc/settings.js";

export * from "./index.js";

/** Default port of the server's HTTP API for an address without a scheme. */
const HTTP_PORT = 7480;

/**
 * Options of `connect` in a browser. The address is "host:port" of the server's HTTP port, "host" for port 7480, or an http or
 * https URL, with a path if a proxy needs one. Default: 127.0.0.1:7480. Anyone who opens the page can read the token.
 */
export interface ConnectOptions extends ClientOptions {
  /** Protocol. Default: "connect". */
  protocol?: "connect" | "grpc-web";
  /** The fetch to call. Default: the platform's. */
  fetch?: typeof fetch;
}

/**
 * Creates a client. Nothing is sent before the first call. Throws TypeError for an invalid address or a token that would be
 * sent unencrypted.
 */
export function connect(options: ConnectOptions = {}): Client {
  const { address = "127.0.0.1", protocol = "connect" } = options;
  const url = new URL(address.includes("://") ? address : `http://${placeOf(address, HTTP_PORT).authority}`);
  if (!url.protocol.startsWith("http")) throw new TypeError(`the address "${address}" is invalid: use "host:port" or an http or https URL`);
  checkToken(url.host, url.protocol === "https:", options.token, options.allowPlaintextToken);
  const create = protocol === "grpc-web" ? createGrpcWebTransport : createConnectTransport;
  const { fetch: given = fetch, interceptors = [] } = options;
  const transport = create({ baseUrl: url.href.replace(/\/$/, ""), useBinaryFormat: true, fetch: abortable(given), interceptors });
  return new Client(transport, () => {}, { ...options, address });
}

/**
 * Returns a fetch whose response stays bound to the signal. Node 20 forgets the signal of a response after a garbage collection and
 * then never ends it; a pipe does.
 */
function abortable(inner: typeof fetch): typeof fetch {
  return async (input, init) => {
    const response = await inner(input, init);
    const { signal } = init ?? {};
    return response.body && signal ? new Response(response.body.pipeThrough(new TransformStream(), { signal }), response) : response;
  };
}
