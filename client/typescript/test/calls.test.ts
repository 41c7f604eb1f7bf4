import assert from "node:assert/strict";
import { after, describe, test } from "node:test";

import { fromBinary, toBinary } from "@bufbuild/protobuf";
import { Code, type ConnectRouter } from "@connectrpc/connect";

import { retriesOf } from "../src/rpc/settings.js";
import { retryPause } from "../src/rpc/transport.js";
import * as sdk from "../src/node.js";
import * as pb from "../src/v1.js";
import { connect as connectWeb } from "../src/web.js";
import { DEAD_ADDRESS, errorInfo, retryInfo, serve, serveHttp, serverError } from "./support.js";

/** Records requests and returns the scripted errors in order, then success. */
const requested: { appends: pb.AppendEventsRequest[]; creates: number; headers: Headers[] } = { appends: [], creates: 0, headers: [] };
let errors: Error[] = [];
let delayMs = 0;

function routes(router: ConnectRouter): void {
  router.service(pb.EventService, {
    async appendEvents(request, { requestHeader, signal }) {
      requested.appends.push(request);
      requested.headers.push(requestHeader);
      const error = errors.shift();
      if (error) throw error;
      if (delayMs) await new Promise((resolve, reject) => (setTimeout(resolve, delayMs).unref(), signal.addEventListener("abort", reject)));
      return { logVersion: 2n ** 62n };
    },
  });
  router.service(pb.SessionService, {
    createSession() {
      requested.creates += 1;
      throw errors.shift() ?? serverError(Code.Internal);
    },
    listSessions: ({ pageToken, labels, app, userId }) =>
      pageToken === "" ? { sessions: [{ uid: "1" }, { uid: "2" }], nextPageToken: "more" } : { sessions: [{ uid: `${app} ${userId} ${labels["a"]}` }] },
  });
}

const grpc = await serve(routes);
const http = await serveHttp(routes);
after(() => Promise.all([grpc.close(), http.close()]));

function reset(...next: Error[]): void {
  Object.assign(requested, { appends: [], creates: 0, headers: [] });
  errors = next;
  delayMs = 0;
}

/** Acts once a request has arrived; a late request would be counted in the next test. */
async function arrived(then: () => void): Promise<void> {
  while (requested.appends.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
  setTimeout(then, 50);
}

const away = (...details: Parameters<typeof serverError>[1][]) => serverError(Code.Unavailable, errorInfo("STORE_UNAVAILABLE"), ...details);
const who = { app: "shop", userId: "alice" };

const protocols: [string, (options?: sdk.ClientOptions) => sdk.Client][] = [
  ["gRPC", (options) => sdk.connect({ ...who, address: grpc.address, token: "secret", ...options })],
  ["Connect", (options) => connectWeb({ ...who, address: http.address, token: "secret", ...options })],
  ["gRPC-Web", (options) => connectWeb({ ...who, address: http.address, token: "secret", protocol: "grpc-web", ...options })],
];
for (const [protocol, open] of protocols) {
  describe(protocol, () => {
    const client = open();
    after(() => client.close());

    test("an append is completed, authorized, and returned exactly", async () => {
      reset();
      const response = await client.session("s1").append([sdk.user("hi")], { createIfMissing: true, expect: { logVersion: 7 }, ifExists: "ignore" });
      assert.equal(response.logVersion, 2n ** 62n);
      const [request] = requested.appends;
      assert.deepEqual([request!.session!.app, request!.session!.userId, request!.session!.sessionId], ["shop", "alice", "s1"]);
      assert.deepEqual(request!.precondition, { case: "expectedLogVersion", value: 7n });
      assert.ok(request!.createIfMissing !== undefined && request!.ifExists === pb.IfExists.IGNORE);
      assert.equal(requested.headers[0]!.get("authorization"), "Bearer secret");
    });

    test("an append is retried with the same ids, and the caller's event stays without one", async () => {
      reset(away(), away());
      const event = sdk.user("hi");
      await client.session("s1").append(event);
      assert.equal(requested.appends.length, 3);
      const ids = new Set(requested.appends.map((request) => request.events[0]!.eventId));
      assert.ok(ids.size === 1 && !ids.has("") && event.eventId === "");
    });

    test("a call that the server canceled is retried if it may be", async () => {
      reset(serverError(Code.Canceled), serverError(Code.Canceled));
      await client.session("s1").append(sdk.user("hi"));
      assert.equal(requested.appends.length, 3);
      reset(serverError(Code.Canceled));
      await assert.rejects(client.raw(pb.SessionService).createSession({}), { code: Code.Unavailable, message: /canceled the call/ });
      assert.equal(requested.creates, 1);
    });

    test("a large request is retried", async () => {
      reset(away());
      await client.session("s1").append(sdk.user("x".repeat(3_000_000)));
      assert.deepEqual(requested.appends.map((request) => sdk.textOf(request.events[0]!).length), [3_000_000, 3_000_000]);
    });

    test("a call has at most five attempts, then the error is thrown", async () => {
      reset(...Array.from({ length: 9 }, () => away()));
      await assert.rejects(client.session("s1").append(sdk.user("hi")), (error) => sdk.isReason(error, "STORE_UNAVAILABLE"));
      assert.equal(requested.appends.length, 5);
    });

    test("unsafe calls and other errors are not retried", async () => {
      reset(away());
      await assert.rejects(client.raw(pb.SessionService).createSession({}), (error) => sdk.isReason(error, "STORE_UNAVAILABLE"));
      assert.equal(requested.creates, 1);
      reset(serverError(Code.NotFound, errorInfo("SESSION_NOT_FOUND", { session_id: "s1" })));
      await assert.rejects(client.session("s1").append(sdk.user("hi")), (error) => sdk.isReason(error, "SESSION_NOT_FOUND") && error.metadata["session_id"] === "s1");
      assert.equal(requested.appends.length, 1);
    });

    test("retries can be limited, turned off and logged", async () => {
      const warnings: string[] = [];
      const logger = { debug: () => {}, warn: (line: string) => void warnings.push(line) };
      const settings: [sdk.ClientOptions["retry"], number][] = [[{ maxAttempts: 2, firstPauseMs: 1 }, 2], [false, 1]];
      for (const [retry, attempts] of settings) {
        reset(...Array.from({ length: 9 }, () => away()));
        const other = open({ retry, logger });
        await assert.rejects(other.session("s1").append(sdk.user("hi")), (error) => sdk.isReason(error, "STORE_UNAVAILABLE"));
        assert.equal(requested.appends.length, attempts);
        other.close();
      }
      assert.equal(warnings.length, 1);
      assert.match(warnings[0]!, /AppendEvents is retried .* attempt 1 failed: .*STORE_UNAVAILABLE/);
    });

    test("a token function is called before every attempt", async () => {
      reset(away());
      let calls = 0;
      const other = open({ token: async () => `secret-${++calls}` });
      await other.session("s1").append(sdk.user("hi"));
      assert.deepEqual(requested.headers.map((headers) => headers.get("authorization")), ["Bearer secret-1", "Bearer secret-2"]);
      other.close();
    });

    test("a token that does not come ends with the timeout or the signal, and its error is thrown", async () => {
      reset();
      const silent = open({ token: () => new Promise<string>(() => {}), timeoutMs: 50 });
      await assert.rejects(silent.session("s1").append(sdk.user("hi")), (error) => sdk.isReason(error, "DEADLINE_EXCEEDED"));
      const stop = new AbortController();
      setTimeout(() => stop.abort(), 20);
      await assert.rejects(silent.session("s1").append(sdk.user("hi"), {}, { timeoutMs: 0, signal: stop.signal }), sdk.isCanceled);
      const broken = open({ token: () => Promise.reject(new Error("no vault")) });
      await assert.rejects(broken.session("s1").append(sdk.user("hi")), /no vault/);
      assert.equal(requested.appends.length, 0);
      [silent, broken].forEach((each) => each.close());
    });

    test("an interceptor sees every attempt", async () => {
      reset(away());
      const seen: string[] = [];
      const other = open({ interceptors: [(next) => (request) => (seen.push(request.method.name), next(request))] });
      await other.session("s1").append(sdk.user("hi"));
      assert.deepEqual(seen, ["AppendEvents", "AppendEvents"]);
      other.close();
    });

    test("a retry waits for the retry delay within the timeout", async () => {
      reset(away(retryInfo(0n, 400_000_000)));
      const began = performance.now();
      await client.session("s1").append(sdk.user("hi"));
      assert.ok(performance.now() - began >= 399);
      reset(away(retryInfo(60n, 0)));
      await assert.rejects(client.session("s1").append(sdk.user("hi"), {}, { timeoutMs: 30_000 }), (error) => sdk.isReason(error, "STORE_UNAVAILABLE") && error.retryAfterMs === 60_000);
      assert.equal(requested.appends.length, 1);
    });

    test("a timeout includes all retries", async () => {
      reset(away());
      delayMs = 60_000;
      const began = performance.now();
      const call = client.session("s1").append(sdk.user("hi"), {}, { timeoutMs: 2000 });
      await assert.rejects(call, (error) => sdk.isReason(error, "DEADLINE_EXCEEDED") && error.code === Code.DeadlineExceeded);
      assert.ok(performance.now() - began < 30_000);
    });

    test("a timeout of 0 means no limit", async () => {
      for (const timeoutMs of [0, Infinity]) {
        reset();
        delayMs = 20;
        await client.session("s1").append(sdk.user("hi"), {}, { timeoutMs });
        assert.deepEqual(["grpc-timeout", "connect-timeout-ms"].map((name) => requested.headers[0]!.get(name)), [null, null]);
      }
    });

    test("an aborted call ends at once, also between retries", async () => {
      for (const next of [[], [away(retryInfo(20n, 0))]]) {
        reset(...next);
        delayMs = 60_000;
        const stop = new AbortController();
        void arrived(() => stop.abort("enough"));
        const began = performance.now();
        await assert.rejects(client.session("s1").append(sdk.user("hi"), {}, { signal: stop.signal }), { code: Code.Canceled, cause: "enough" });
        assert.ok(performance.now() - began < 15_000);
      }
    });

    test("pages are fetched one after the other", async () => {
      reset();
      const uids = [];
      for await (const session of client.sessions({ anyUser: true, labels: { a: "b" } })) uids.push(session.uid);
      assert.deepEqual(uids, ["1", "2", "shop  b"]);
    });

    test("closing ends active calls, rejects later ones, and can be repeated", async () => {
      reset();
      delayMs = 5000;
      const other = open();
      const call = other.session("s1").append(sdk.user("hi"));
      void arrived(() => (other.close(), other.close()));
      await assert.rejects(call, { code: Code.Canceled, message: "Canceled: the client is closed" });
      await assert.rejects(other.session("s1").append(sdk.user("hi")), { message: "Canceled: the client is closed" });
    });
  });
}

test("a retry reconnects after a broken connection", async () => {
  reset();
  delayMs = 5000;
  const client = sdk.connect({ ...who, address: grpc.address });
  void arrived(() => (grpc.cut(), (delayMs = 0)));
  await client.session("s1").append(sdk.user("hi"));
  assert.equal(requested.appends.length, 2);
  client.close();
});

test("a missing server is reported after the retries", async () => {
  const client = sdk.connect({ ...who, address: DEAD_ADDRESS });
  await assert.rejects(client.session("s1").append(sdk.user("hi")), (error) => error instanceof sdk.ThreadkeepError && error.code === Code.Unavailable && /no server at 127/.test(error.message));
  client.close();
});

test("pauses between retries double and have at least the retry delay", () => {
  const append = pb.EventService.method.appendEvents;
  const error = new sdk.ThreadkeepError("away", Code.Unavailable);
  assert.deepEqual([1, 2, 3, 4].map((attempt) => Math.round(retryPause(append, attempt, error, retriesOf(undefined), () => 0.5)!)), [100, 200, 400, 800]);
  assert.equal(retryPause(append, 5, error), undefined);
  assert.equal(retryPause(pb.SessionService.method.createSession, 1, error), undefined);
  assert.equal(retryPause(append, 1, new sdk.ThreadkeepError("no", Code.Internal)), undefined);
  assert.equal(retryPause(append, 1, new sdk.ThreadkeepError("later", Code.Unavailable, { retryAfterMs: 700 })), 700);
});

test("invalid arguments are rejected", async () => {
  const client = sdk.connect({ ...who, address: "127.0.0.1:1" });
  const both = { logVersion: 1, lastEventId: "" } as unknown as sdk.Expect;
  await assert.rejects(client.session("s").append([], { expect: both }), TypeError);
  assert.throws(() => client.watchAll({ from: { afterSeq: 1 } as unknown as sdk.Start }), TypeError);
  assert.throws(() => sdk.connect({ retry: { maxAttempts: 0 } }), TypeError);
  assert.throws(() => sdk.connect({ address: "a b" }), TypeError);
  client.close();
});

test("an append sets ids in copies and keeps existing ids and unknown fields", async () => {
  reset();
  const client = sdk.connect({ ...who, address: grpc.address });
  const unknown = fromBinary(pb.SessionEventSchema, Uint8Array.of(0xa2, 0x06, 0x01, 0x41)); // field 100
  await client.session("s1").append([sdk.user("one", { eventId: "mine" }), unknown, { author: "planner" }]);
  const [first, second, third] = requested.appends[0]!.events;
  assert.deepEqual([first!.eventId, third!.author, unknown.eventId], ["mine", "planner", ""]);
  assert.match(second!.eventId, /^[0-9a-f-]{36}$/);
  assert.deepEqual(second!.$unknown?.map(({ no }) => no), [100]);
  client.close();
});

test("a byte order mark at the beginning of a text is kept", () => {
  sdk.connect({ address: "127.0.0.1:1" }).close();
  for (const text of ["\ufeffmarked", "\ufeff", "a\ufeff", "", "\u{1f600}"]) {
    const event = fromBinary(pb.SessionEventSchema, toBinary(pb.SessionEventSchema, sdk.user(text)));
    assert.equal(sdk.textOf(event), text);
  }
});

test("address and token default to the environment", () => {
  process.env["THREADKEEP_ADDRESS"] = "10.0.0.1:9";
  assert.equal(sdk.connect().address, "10.0.0.1:9");
  delete process.env["THREADKEEP_ADDRESS"];
  assert.equal(sdk.connect().address, "127.0.0.1:7443");
});
