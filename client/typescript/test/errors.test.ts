import assert from "node:assert/strict";
import { test } from "node:test";

import { Code, ConnectError } from "@connectrpc/connect";

import { typedError } from "../src/rpc/errors.js";
import { isReason, Reason, ThreadkeepError } from "../src/node.js";
import { badRequest, errorInfo, retryInfo, serverError } from "./support.js";

const typed = (cause: unknown) => typedError(cause, "127.0.0.1:1", new AbortController().signal) as ThreadkeepError;

test("an error has reason, metadata, violations and retry delay", () => {
  const details = [
    errorInfo("INVALID_FIELD", { field: "a", problem: "is long" }),
    badRequest(["a", "is long"], ["b", "is short"]),
    retryInfo(2n, 500_000_000),
    { type: "google.rpc.Newer", value: Uint8Array.of(255) },
  ];
  const error = typed(serverError(Code.InvalidArgument, ...details));
  assert.ok(error instanceof ThreadkeepError && error instanceof Error && error.cause instanceof ConnectError);
  assert.equal(error.code, Code.InvalidArgument);
  assert.equal(error.rawMessage, "as it says");
  assert.equal(error.message, "INVALID_FIELD (InvalidArgument): as it says");
  assert.equal(error.reason, "INVALID_FIELD");
  assert.deepEqual(error.metadata, { field: "a", problem: "is long" });
  assert.deepEqual(error.violations, [{ field: "a", description: "is long" }, { field: "b", description: "is short" }]);
  assert.equal(error.retryAfterMs, 2500);
});

test("the message ends with the request id", () => {
  const error = typed(serverError(Code.Internal, errorInfo("INTERNAL", { request_id: "r1" })));
  assert.deepEqual([error.requestId, error.message], ["r1", "INTERNAL (Internal): as it says [request r1]"]);
  assert.equal(typed(serverError(Code.NotFound)).requestId, "");
});

test("an error is transient if the server is unavailable or says when to retry", () => {
  const errors = [serverError(Code.Unavailable), serverError(Code.ResourceExhausted, retryInfo(1n, 0)), serverError(Code.ResourceExhausted)];
  assert.deepEqual(errors.map((error) => typed(error).isTransient), [true, true, false]);
});

test("Reason has the names of all reasons and no numbers", () => {
  assert.equal(Reason.SESSION_NOT_FOUND, "SESSION_NOT_FOUND");
  assert.ok(Object.entries(Reason).every(([name, value]) => name === value && /^[A-Z]/.test(name)));
});

test("isReason matches reasons by name and no other errors", () => {
  const error = typed(serverError(Code.NotFound, errorInfo("SESSION_NOT_FOUND")));
  assert.ok(isReason(error, "EVENT_NOT_FOUND", "SESSION_NOT_FOUND"));
  assert.ok(!isReason(error, "EVENT_NOT_FOUND"));
  assert.ok(!isReason(new Error("SESSION_NOT_FOUND"), "SESSION_NOT_FOUND"));
});

test("a reason of a newer server is kept as text", () => {
  const error = typed(serverError(Code.FailedPrecondition, errorInfo("MOON_IN_THE_WAY", { phase: "full" })));
  assert.equal(error.reason, "MOON_IN_THE_WAY");
  assert.equal(error.metadata["phase"], "full");
});

test("malformed and foreign details do not hide the error", () => {
  const broken = { type: "google.rpc.ErrorInfo", value: Uint8Array.of(0x0a, 0x7f, 0x41) };
  const error = typed(serverError(Code.NotFound, broken, errorInfo("FOREIGN", {}, "example.org"), retryInfo(1n, 0)));
  assert.deepEqual([error.reason, error.code, error.retryAfterMs], ["", Code.NotFound, 1000]);
});

test("metadata keys do not change the prototype", () => {
  const error = typed(serverError(Code.NotFound, errorInfo("SESSION_NOT_FOUND", JSON.parse('{"__proto__": "x"}'))));
  assert.equal(Object.getOwnPropertyDescriptor(error.metadata, "__proto__")?.value, "x");
});

test("a missing server is reported with address and remedy", () => {
  const error = typed(new ConnectError("connect ECONNREFUSED", Code.Unavailable));
  assert.match(error.message, /no server at 127\.0\.0\.1:1 \(connect ECONNREFUSED\); start one with .*make serve/);
  assert.equal(typed(serverError(Code.Unavailable, errorInfo("SERVER_DRAINING"))).rawMessage, "as it says");
});

test("an unreachable port 7443 in a browser suggests the HTTP port", () => {
  const failed = (address: string) => typedError(new ConnectError("fetch failed", Code.Unknown, undefined, undefined, new TypeError("fetch failed")), address, new AbortController().signal) as Error;
  assert.match(failed("there:7443").message, /no server at there:7443 .*; in a browser, use its HTTP port, by default 7480$/);
  assert.doesNotMatch(failed("there:7480").message, /browser/);
});

test("a reason of another domain is ignored", () => {
  const proxys = errorInfo("SESSION_NOT_FOUND", { session_id: "s" }, "proxy.example");
  const error = typed(serverError(Code.NotFound, proxys));
  assert.deepEqual([error.reason, error.metadata], ["", {}]);
  assert.equal(typed(serverError(Code.Unavailable, proxys, errorInfo("SERVER_DRAINING"))).reason, "SERVER_DRAINING");
});

test("a code that implies one reason has it", () => {
  assert.equal(typed(serverError(Code.Unauthenticated)).reason, "UNAUTHENTICATED");
  assert.equal(typed(new ConnectError("the operation timed out", Code.DeadlineExceeded)).reason, "DEADLINE_EXCEEDED");
  assert.equal(typed(serverError(Code.NotFound)).reason, "");
});

const broken: [string, ConnectError][] = [
  ["fetch failed", ConnectError.from(new TypeError("fetch failed"))],
  ["a reset stream", new ConnectError("http/2 stream closed with error code INTERNAL_ERROR (0x2)", Code.Internal)],
  ["a stream that the server canceled", new ConnectError("http/2 stream closed with error code CANCEL (0x8)", Code.Canceled)],
  ["a call that an overloaded server canceled", new ConnectError("own words", Code.Canceled, { "grpc-status": "1" })],
  ["no trailers", new ConnectError("protocol error: missing status", Code.Internal)],
  ["half a message", new ConnectError("protocol error: promised 9 bytes in enveloped message, got 3", Code.InvalidArgument)],
  ["no end of a Connect stream", ConnectError.from("missing EndStreamResponse")],
  ["a session that is gone", ConnectError.from(Object.assign(new Error("gone"), { code: "ERR_HTTP2_SESSION_ERROR" }), Code.Internal)],
];
for (const [what, cause] of broken) {
  test(`${what} is Unavailable`, () => assert.equal(typed(cause).code, Code.Unavailable));
}

test("an error of a server is not a broken connection", () => {
  for (const code of [Code.Internal, Code.Aborted, Code.Unknown]) {
    assert.equal(typed(new ConnectError("own words", code, { "grpc-status": String(code) })).code, code);
  }
});

test("bugs of the program are returned unchanged", () => {
  const fault = new TypeError("x is not a function");
  assert.equal(typed(fault), fault);
  assert.equal(typed(ConnectError.from(new TypeError("cannot encode"), Code.Internal)).code, Code.Internal);
});

test("an abort takes precedence over later errors", () => {
  const aborted = (reason: unknown) => typedError(serverError(Code.Internal), "", AbortSignal.abort(reason)) as ThreadkeepError;
  assert.deepEqual([aborted("enough").code, aborted("enough").cause], [Code.Canceled, "enough"]);
  const own = new ThreadkeepError("the client is closed", Code.Canceled);
  assert.equal(aborted(own), own);
});
