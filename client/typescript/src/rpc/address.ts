// Parses server addresses and prevents tokens from being sent unencrypted.

import type { Token } from "./settings.js";

/** A server address without its scheme. */
export interface Place {
  /** Host and port, "host:port". */
  authority: string;
  /** True for https, false for http, undefined for an address without a scheme. */
  tls: boolean | undefined;
}

const ADDRESS = /^(?:(https?):\/\/)?(\[[\da-f:.%]+\]|[^\s/?#@:[\]]+|[\da-f]*:[\da-f.]*:[\da-f:.]*)(?::(\d{1,5}))?\/?$/i;
const LOOPBACK = /^(([^:]+\.)?localhost|127(\.\d{1,3}){3}|\[::1\])(:\d+)?$/i;

/** Parses "host:port" or "host", optionally after "https://" or "http://". Throws TypeError for anything else. */
export function placeOf(address: string, defaultPort: number): Place {
  const [, scheme, host = "", port = String(defaultPort)] = ADDRESS.exec(address.trim()) ?? [];
  if (!host || Number(port) < 1 || Number(port) > 65_535) {
    throw new TypeError(`the address "${address}" is invalid: use "host:port", or "https://host:port" for TLS`);
  }
  const bracketed = host.includes(":") && !host.startsWith("[") ? `[${host}]` : host;
  return { authority: `${bracketed}:${port}`, tls: scheme === undefined ? undefined : scheme.toLowerCase() === "https" };
}

/** Throws TypeError if the token would cross a network unencrypted and that is not allowed. */
export function checkToken(authority: string, encrypted: boolean, token: Token | undefined, allowed: boolean | undefined): void {
  if (!token || encrypted || allowed || LOOPBACK.test(authority)) return;
  const how = `use the address "https://${authority}" for TLS, or allowPlaintextToken: true on a network that you trust`;
  throw new TypeError(`the token would go to ${authority} unencrypted; ${how}`);
}
