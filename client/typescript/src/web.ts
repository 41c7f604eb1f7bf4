// The client in browsers, and wherever there is fetch: Connect or gRPC-Web, with the server's HTTP port.

import { createConnectTransport, createGrpcWebTransport } from "@connectrpc/connect-web";

import { checkToken, placeOf } from "./address.js";
import { Client, type ClientOptions } from "./client.js";

export * from "./index.js";

/** The port of a server's HTTP API where an address without a scheme names none. */
const HTTP_PORT = 7480;

/**
 * What `connect` takes in a browser. The address is "host:port" of the server's HTTP port, "host" alone for port 7480, or an http or
 * https URL, with a path if a proxy wants one; by default 127.0.0.1:7480. Mind that whoever opens the page can read the token.
 */
export interface ConnectOptions extends ClientOptions {
  /** By default Connect. */
  protocol?: "connect" | "grpc-web";
}

/**
 * A client of a server. Nothing is sent before the first call. Throws TypeError for an address that is none, and for a token that
 * would go unencrypted.
 */
export function connect(options: ConnectOptions = {}): Client {
  const { address = "127.0.0.1", protocol = "connect" } = options;
  const url = new URL(address.includes("://") ? address : `http://${placeOf(address, HTTP_PORT).authority}`);
  if (!url.protocol.startsWith("http")) throw new TypeError(`the address "${address}" is not valid: give "host:port" or an http or https URL`);
  checkToken(url.host, url.protocol === "https:", options.token, options.allowPlaintextToken);
  const create = protocol === "grpc-web" ? createGrpcWebTransport : createConnectTransport;
  return new Client(create({ baseUrl: url.href.replace(/\/$/, ""), useBinaryFormat: true, fetch: abortable }), () => {}, { ...options, address });
}

/** The fetch of Node 20 forgets the signal of an answer that it still reads once garbage is collected, and then never ends it; a pipe does. */
const abortable: typeof fetch = async (input, init) => {
  const response = await fetch(input, init);
  const { signal } = init ?? {};
  return response.body && signal ? new Response(response.body.pipeThrough(new TransformStream(), { signal }), response) : response;
};
