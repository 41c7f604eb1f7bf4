import assert from "node:assert/strict";
import { createServer } from "node:http";
import { createServer as createSocketServer, type AddressInfo } from "node:net";
import { test } from "node:test";

import { Code } from "@connectrpc/connect";

import { placeOf } from "../src/rpc/address.js";
import * as sdk from "../src/node.js";
import * as pb from "../src/v1.js";
import { connect as connectWeb } from "../src/web.js";
import { serveHttp } from "./support.js";

test("an address is a host and a port with a default", () => {
  const places: [string, string][] = [
    ["there:1", "there:1"], ["there", "there:7443"], ["10.0.0.1", "10.0.0.1:7443"], ["http://there:1", "there:1"], ["http://there/", "there:7443"],
    ["https://tk.example", "tk.example:7443"], ["HTTPS://tk.example:443", "tk.example:443"], ["[::1]:9", "[::1]:9"], ["[::1]", "[::1]:7443"], ["::1", "[::1]:7443"],
  ];
  for (const [address, authority] of places) assert.equal(placeOf(address, 7443).authority, authority, address);
  assert.deepEqual(["https://there", "http://there", "there"].map((address) => placeOf(address, 1).tls), [true, false, undefined]);
});

test("an invalid address is rejected with the valid form", () => {
  for (const address of ["a b", "ftp://there", "there:0", "there:65536", "there:http", ":7443", "https://there:1/path", "user@there"]) {
    const refused = { name: "TypeError", message: `the address "${address}" is invalid: use "host:port", or "https://host:port" for TLS` };
    assert.throws(() => sdk.connect({ address }), refused);
  }
  assert.throws(() => connectWeb({ address: "ftp://there" }), TypeError);
  assert.throws(() => connectWeb({ address: "a b" }), TypeError);
});

/** Returns the first byte that a client sends to an address with this prefix. */
async function firstByteTo(prefix: string): Promise<number> {
  const server = createSocketServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const first = new Promise<number>((resolve) =>
    server.on("connection", (socket) => {
      socket.on("error", () => {});
      socket.once("data", (bytes) => (resolve(bytes[0]!), socket.destroy()));
    }),
  );
  process.env["THREADKEEP_ADDRESS"] = `${prefix}127.0.0.1:${(server.address() as AddressInfo).port}`;
  try {
    const client = sdk.connect();
    const call = client.session("s").append(sdk.user("hi")).catch(() => {});
    const byte = await first;
    client.close();
    await call;
    return byte;
  } finally {
    delete process.env["THREADKEEP_ADDRESS"];
    server.close();
  }
}

test("an https address, also from the environment, turns TLS on", async () => {
  const [tlsHandshake, http2Preface] = [0x16, "P".charCodeAt(0)];
  assert.deepEqual([await firstByteTo("https://"), await firstByteTo("http://"), await firstByteTo("")], [tlsHandshake, http2Preface, http2Preface]);
});

test("a scheme that contradicts the option tls is rejected", () => {
  for (const [address, tls] of [["http://there", true], ["https://there", false], ["http://there", {}]] as const) {
    assert.throws(() => sdk.connect({ address, tls }), /the scheme of the address contradicts the option tls/);
  }
  sdk.connect({ address: "https://there", tls: true }).close();
});

test("a token without TLS is rejected beyond loopback unless allowed", () => {
  for (const address of ["10.0.0.1", "http://tk.example:7443", "localhost.example", "127.0.0.1.example", "0.0.0.0"]) {
    for (const connect of [sdk.connect, connectWeb]) {
      assert.throws(() => connect({ address, token: "secret" }), /the token would go to .* unencrypted; use the address "https:\/\//);
      connect({ address, token: "secret", allowPlaintextToken: true }).close();
      connect({ address, token: "" }).close();
    }
  }
  process.env["THREADKEEP_TOKEN"] = "secret";
  assert.throws(() => sdk.connect({ address: "10.0.0.1" }), TypeError);
  delete process.env["THREADKEEP_TOKEN"];
});

test("a token is accepted over TLS and to loopback", () => {
  for (const address of ["https://10.0.0.1", "127.0.0.1:1", "127.1.2.3", "localhost", "LOCALHOST:1", "tk.localhost", "[::1]", "::1"]) {
    for (const connect of [sdk.connect, connectWeb]) connect({ address, token: "secret" }).close();
  }
  sdk.connect({ address: "10.0.0.1", tls: true, token: "secret" }).close();
});

test("an HTTP/1 port is reported in the error, and closing the client has no other effect", async () => {
  const server = createServer((_, response) => response.end());
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const client = sdk.connect({ address: `127.0.0.1:${(server.address() as AddressInfo).port}` });
  try {
    const message = /does not respond in gRPC .*use the server's gRPC port, by default 7443/;
    await assert.rejects(client.session("s").append(sdk.user("hi")), { code: Code.Unavailable, message });
    client.close(); // an unhandled error of its connection would fail this test
    await new Promise((resolve) => setTimeout(resolve, 50));
  } finally {
    server.closeAllConnections();
    server.close();
  }
});

test("a browser's address with and without a scheme or a path reaches the server", async () => {
  const http = await serveHttp((router) => router.service(pb.SessionService, { listSessions: () => ({ sessions: [{ uid: "1" }] }) }));
  for (const address of [http.address, `http://${http.address}`, `http://${http.address}/`]) {
    const client = connectWeb({ address });
    for await (const { uid } of client.sessions()) assert.equal(uid, "1");
    client.close();
  }
  await http.close();
});
