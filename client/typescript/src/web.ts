// The client in browsers, and wherever there is fetch: Connect or gRPC-Web, with the server's HTTP port.

import { createConnectTransport, createGrpcWebTransport } from "@connectrpc/connect-web";

import type { Client } from "./client.js";
import { baseUrl, clientOn } from "./connecting.js";
import type { ClientOptions } from "./options.js";

export * from "./index.js";

/** What `connect` is told in a browser. */
export interface ConnectOptions extends ClientOptions {
  /** "host:port" of the server's HTTP port, or an http or https URL, with a path if a proxy wants one; by default 127.0.0.1:7480. */
  address?: string;
  /** Mind that whoever opens the page can read it. Empty, the default: none. */
  token?: string;
  /** True: https, where the address is "host:port". */
  tls?: boolean;
  /** By default Connect. */
  protocol?: "connect" | "grpc-web";
}

/** A client of a server. Nothing is sent before the first call. */
export function connect(options: ConnectOptions = {}): Client {
  const { address = "127.0.0.1:7480", tls = false, protocol = "connect" } = options;
  const url = baseUrl(address, tls);
  const create = protocol === "grpc-web" ? createGrpcWebTransport : createConnectTransport;
  const transport = options.transport?.(url) ?? create({ baseUrl: url, useBinaryFormat: true });
  return clientOn(transport, () => {}, { ...options, address });
}
