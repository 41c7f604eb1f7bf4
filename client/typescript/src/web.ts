// The client for browsers and other environments with fetch: Connect or gRPC-Web over the server's HTTP port.

import { createConnectTransport, createGrpcWebTransport } from "@connectrpc/connect-web";

import { checkToken, placeOf } from "./address.js";
import { Client, type ClientOptions } from "./client.js";

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
  return new Client(create({ baseUrl: url.href.replace(/\/$/, ""), useBinaryFormat: true, fetch: abortable }), () => {}, { ...options, address });
}

/**
 * A fetch whose response stays bound to the signal. Node 20 forgets the signal of a response after a garbage collection and
 * then never ends it; a pipe does.
 */
const abortable: typeof fetch = async (input, init) => {
  const response = await fetch(input, init);
  const { signal } = init ?? {};
  return response.body && signal ? new Response(response.body.pipeThrough(new TransformStream(), { signal }), response) : response;
};
