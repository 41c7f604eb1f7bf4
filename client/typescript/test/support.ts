// A test server whose services do what each test scripts, and builders for messages.

import { create } from "@bufbuild/protobuf";
import { BinaryWriter } from "@bufbuild/protobuf/wire";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { Code, ConnectError, type ConnectRouter } from "@connectrpc/connect";
import { createServer as createPlain } from "node:http";
import { createServer, type ServerHttp2Session } from "node:http2";
import type { AddressInfo } from "node:net";

import { ChangeSchema, SessionEventSchema, type Change } from "../src/v1.js";

export interface FakeServer {
  address: string;
  /** Cuts every connection, like kill -9. */
  cut(): void;
  close(): Promise<void>;
}

/** Serves gRPC over HTTP/2 without TLS. */
export async function serve(routes: (router: ConnectRouter) => void): Promise<FakeServer> {
  const server = createServer(connectNodeAdapter({ routes }));
  const open = new Set<ServerHttp2Session>();
  server.on("session", (session) => {
    open.add(session);
    session.on("close", () => open.delete(session));
    session.on("error", () => {});
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const cut = () => open.forEach((session) => session.destroy());
  const close = async () => {
    cut();
    await new Promise((resolve) => server.close(resolve));
  };
  return { address: `127.0.0.1:${(server.address() as AddressInfo).port}`, cut, close };
}

/** Serves Connect and gRPC-Web over HTTP/1.1. */
export async function serveHttp(routes: (router: ConnectRouter) => void): Promise<FakeServer> {
  const server = createPlain(connectNodeAdapter({ routes }));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const cut = () => server.closeAllConnections();
  const close = async () => {
    cut();
    await new Promise((resolve) => server.close(resolve));
  };
  return { address: `127.0.0.1:${(server.address() as AddressInfo).port}`, cut, close };
}

/** A port without a listener; one that was closed could have another by then. */
export const DEAD_ADDRESS = "127.0.0.1:1";

export function errorInfo(reason: string, metadata: Record<string, string> = {}, domain = "threadkeep.dev") {
  const writer = new BinaryWriter().tag(1, 2).string(reason).tag(2, 2).string(domain);
  for (const [key, value] of Object.entries(metadata)) {
    writer.tag(3, 2).fork().tag(1, 2).string(key).tag(2, 2).string(value).join();
  }
  return { type: "google.rpc.ErrorInfo", value: writer.finish() };
}

export function retryInfo(seconds: bigint, nanos: number) {
  const writer = new BinaryWriter().tag(1, 2).fork().tag(1, 0).int64(seconds).tag(2, 0).int32(nanos).join();
  return { type: "google.rpc.RetryInfo", value: writer.finish() };
}

export function badRequest(...violations: [string, string][]) {
  const writer = new BinaryWriter();
  for (const [field, description] of violations) {
    writer.tag(1, 2).fork().tag(1, 2).string(field).tag(2, 2).string(description).tag(3, 2).string("NEWER").join();
  }
  return { type: "google.rpc.BadRequest", value: writer.finish() };
}

/** Returns an error as a Threadkeep server sends it. */
export function serverError(code: Code, ...details: { type: string; value: Uint8Array }[]): ConnectError {
  const error = new ConnectError("as it says", code);
  error.details = details;
  return error;
}

/** Returns an append of these texts. */
export function batch(sessionId: string, logVersion: number, texts: string[], { token = `t${logVersion}`, continues = false } = {}): Change {
  const events = texts.map((eventId) => create(SessionEventSchema, { eventId }));
  return create(ChangeSchema, {
    session: { app: "a", userId: "u", sessionId },
    kind: { case: "batch", value: { events, continues } },
    resumeToken: continues ? "" : token,
    versions: { logVersion: BigInt(logVersion) },
  });
}

export const idsOf = ({ kind }: Change): string[] => (kind.case === "batch" ? kind.value.events.map((each) => each.eventId) : []);
