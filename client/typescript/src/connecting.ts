import type { Transport } from "@connectrpc/connect";

import { Client } from "./client.js";
import type { ClientOptions } from "./options.js";
import { keepByteOrderMarks } from "./text.js";
import { ReliableTransport } from "./transport.js";

/** The URL that an address means. Throws TypeError for what is neither "host:port" nor an http or https URL. */
export function baseUrl(address: string, tls: boolean): string {
  const text = String(address);
  const url = /^https?:\/\//.test(text) ? text : `${tls ? "https" : "http"}://${text}`;
  if (!URL.canParse(url)) throw new TypeError(`address must be host:port or an http or https URL, not ${text}`);
  if (tls && url.startsWith("http:")) throw new TypeError(`tls is asked for, but the address is ${text}`);
  return url.replace(/\/+$/, "");
}

export function clientOn(transport: Transport, disconnect: () => void, options: ClientOptions & { address: string }): Client {
  keepByteOrderMarks();
  const { address, token = "", timeoutMs = 30_000 } = options;
  return new Client(address, new ReliableTransport(transport, { address, token, timeoutMs }), disconnect, options);
}
