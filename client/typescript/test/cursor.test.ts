import assert from "node:assert/strict";
import { test } from "node:test";

import { create } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";

import { Backoff } from "../src/rpc/backoff.js";
import { Cursor, REMEMBERED } from "../src/feed/cursor.js";
import { SessionChangeKind, ThreadkeepError } from "../src/node.js";
import { ChangeSchema } from "../src/v1.js";
import { batch, idsOf } from "./support.js";

const session = { app: "a", userId: "u", sessionId: "s" };

test("a change is delivered once, and later ones too", () => {
  const cursor = new Cursor();
  assert.deepEqual([1, 2, 2, 1, 3].map((version) => cursor.take(batch("s", version, ["e"])) !== undefined), [true, true, false, false, true]);
  assert.ok(cursor.take(batch("other", 1, ["e"])), "versions are each session's own");
  assert.equal(cursor.resume(), "t1");
});

test("parts are joined into one change with the token and versions of the last", () => {
  const cursor = new Cursor();
  assert.equal(cursor.take(batch("s", 5, ["e1", "e2"], { continues: true })), undefined);
  assert.equal(cursor.resume(), "", "the token of a part is no place to resume");
  assert.equal(cursor.take(batch("s", 5, ["e1", "e2"], { continues: true })), undefined);
  const whole = cursor.take(batch("s", 5, ["e3"], { token: "end" }))!;
  assert.deepEqual(idsOf(whole), ["e1", "e2", "e3"]);
  assert.equal(whole.resumeToken, "end");
  assert.equal(cursor.resume(), "end");
});

test("parts of a compaction are joined with the record of the first", () => {
  const cursor = new Cursor();
  const part = (id: string, strategy: string, continues: boolean) =>
    create(ChangeSchema, {
      session,
      resumeToken: continues ? "" : "t",
      versions: { logVersion: 9n },
      kind: { case: "compaction", value: { inserted: [{ eventId: id }], continues, compaction: strategy ? { strategy } : undefined } },
    });
  assert.equal(cursor.take(part("e1", "turn_window", true)), undefined);
  const { kind } = cursor.take(part("e2", "", false))!;
  assert.ok(kind.case === "compaction");
  assert.equal(kind.value.compaction?.strategy, "turn_window");
  assert.deepEqual(kind.value.inserted.map((each) => each.eventId), ["e1", "e2"]);
});

test("an unknown kind is skipped and its token used", () => {
  const cursor = new Cursor();
  assert.equal(cursor.take(create(ChangeSchema, { session, resumeToken: "beyond" })), undefined);
  assert.equal(cursor.resume(), "beyond");
});

test("a session that is created again resets its versions", () => {
  const cursor = new Cursor();
  const deleted = create(ChangeSchema, { session, kind: { case: "sessionChange", value: { kind: SessionChangeKind.DELETED } }, resumeToken: "d" });
  const updated = create(ChangeSchema, { session, kind: { case: "sessionChange", value: { kind: SessionChangeKind.UPDATED } }, resumeToken: "u" });
  assert.ok(cursor.take(batch("s", 7, ["e"])));
  assert.ok(cursor.take(updated));
  assert.equal(cursor.take(batch("s", 1, ["e"])), undefined, "an update is no new beginning");
  assert.ok(cursor.take(deleted));
  assert.ok(cursor.take(batch("s", 1, ["e"])));
});

test("versions of the least recent sessions are dropped", () => {
  const cursor = new Cursor();
  for (let n = 0; n < REMEMBERED; n++) cursor.take(batch(`s${n}`, 1, ["e"]));
  cursor.take(batch("s0", 2, ["e"]));
  cursor.take(batch("one more", 1, ["e"]));
  assert.equal(cursor.take(batch("s0", 2, ["e"])), undefined, "remembered: it changed lately");
  assert.ok(cursor.take(batch("s1", 1, ["e"])), "forgotten: the oldest");
});

const unavailable = new ThreadkeepError("away", Code.Unavailable);

test("pauses double from 0.1 to 5 seconds with jitter until a reset", () => {
  const backoff = new Backoff(Infinity, () => 0.5);
  const pauses = Array.from({ length: 8 }, () => backoff.pause(unavailable));
  assert.deepEqual(pauses, [50, 100, 200, 400, 800, 1600, 2500, 2500]);
  backoff.reset();
  assert.equal(backoff.pause(unavailable), 50);
  assert.equal(new Backoff(Infinity, () => 0).pause(unavailable), 0);
});

test("the retry delay is added", () => {
  const error = new ThreadkeepError("slow", Code.ResourceExhausted, { retryAfterMs: 700 });
  assert.equal(new Backoff(Infinity, () => 0.5).pause(error), 750);
});

test("consecutive failures are limited and other errors are thrown", () => {
  const backoff = new Backoff(2, () => 0);
  backoff.pause(unavailable);
  backoff.pause(unavailable);
  assert.throws(() => backoff.pause(unavailable), unavailable);
  const expired = new ThreadkeepError("expired", Code.OutOfRange, { reason: "RESUME_POSITION_EXPIRED" });
  assert.throws(() => new Backoff().pause(expired), expired);
  assert.throws(() => new Backoff().pause(new TypeError("fault")), TypeError);
});
