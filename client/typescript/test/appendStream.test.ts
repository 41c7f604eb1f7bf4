import assert from "node:assert/strict";
import { after, test } from "node:test";

import { Code } from "@connectrpc/connect";

import * as sdk from "../src/node.js";
import * as pb from "../src/v1.js";
import { serve } from "./support.js";

let hold = Promise.resolve();
const received: pb.AppendStreamRequest[] = [];
const server = await serve((router) =>
  router.service(pb.EventService, {
    async *appendStream(requests) {
      let index = 0n;
      for await (const request of requests) {
        received.push(request);
        await hold;
        const isStale = request.append!.precondition.case === "expectedLogVersion";
        const error = { code: Code.Aborted, message: "stale", reason: "VERSION_MISMATCH", metadata: { actual: "9" } };
        yield { results: [{ index: index++, outcome: isStale ? { case: "error", value: error } : { case: "appended", value: { logVersion: index } } }] };
      }
    },
  }),
);
const client = sdk.connect({ address: server.address, app: "shop", userId: "alice" });
after(() => (client.close(), server.close()));

async function all(results: AsyncIterable<sdk.BatchResult>): Promise<sdk.BatchResult[]> {
  const found = [];
  for await (const result of results) found.push(result);
  return found;
}

test("each batch has its result, and a failed one does not end the stream", async () => {
  received.length = 0;
  const batches: sdk.Batch[] = [
    { session: "s1", events: sdk.user("a"), createIfMissing: true },
    { session: "s1", events: [sdk.user("b")], expect: { logVersion: 1 } },
    { session: "s2", events: sdk.user("c") },
  ];
  const [first, second, third] = await all(client.appendStream(batches));
  assert.deepEqual([first!.index, first!.appended!.logVersion, first!.error, third!.appended!.logVersion], [0, 1n, undefined, 3n]);
  assert.ok(sdk.isReason(second!.error, "VERSION_MISMATCH") && second!.error.code === Code.Aborted && second!.error.metadata["actual"] === "9");
  assert.deepEqual(received.map(({ append }) => [append!.session!.sessionId, append!.session!.userId]), [["s1", "alice"], ["s1", "alice"], ["s2", "alice"]]);
  assert.match(received[0]!.append!.events[0]!.eventId, /^[0-9a-f-]{36}$/);
});

test("no more batches are taken than may wait for their result", async () => {
  received.length = 0;
  let release = () => {};
  hold = new Promise((resolve) => (release = resolve));
  let taken = 0;
  function* batches() {
    for (; taken < 100; taken++) yield sdk.user(`${taken}`);
  }
  const results = all(client.session("s1").appendStream(batches(), { maxOutstanding: 4 }));
  while (received.length < 1) await new Promise((resolve) => setTimeout(resolve, 5));
  await new Promise((resolve) => setTimeout(resolve, 100));
  assert.ok(taken <= 4, `${taken} batches were taken`);
  release();
  hold = Promise.resolve();
  assert.deepEqual((await results).map(({ index }) => index), Array.from({ length: 100 }, (_, index) => index));
});

test("an error of the batches is thrown after the results of those before it", async () => {
  async function* batches() {
    yield sdk.user("a");
    throw new Error("no more input");
  }
  const results = client.session("s1").appendStream(batches());
  assert.equal((await results.next()).value!.index, 0);
  await assert.rejects(results.next(), /no more input/);
});

test("leaving the loop ends the input", async () => {
  let ended = false;
  async function* batches() {
    try {
      for (;;) yield sdk.user("a");
    } finally {
      ended = true;
    }
  }
  for await (const _ of client.session("s1").appendStream(batches(), { maxOutstanding: 2 })) break;
  for (const end = performance.now() + 10_000; !ended && performance.now() < end; ) await new Promise((resolve) => setTimeout(resolve, 5));
  assert.ok(ended);
});
