import assert from "node:assert/strict";
import { after, beforeEach, test } from "node:test";

import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";

import { Member } from "../src/feed/member.js";
import * as sdk from "../src/node.js";
import * as pb from "../src/v1.js";
import { errorInfo, serve, serverError } from "./support.js";

type Frame = MessageInitShape<typeof pb.ConsumeResponseSchema>;
type Requests = AsyncIterator<pb.ConsumeRequest>;
let scripts: ((requests: Requests) => AsyncGenerator<Frame>)[] = [];
const joins: pb.JoinConsumer[] = [];
const requested: pb.ReplayParkedChangesRequest[] = [];

const server = await serve((router) =>
  router.service(pb.ConsumerService, {
    async *consume(stream) {
      const requests = stream[Symbol.asyncIterator]();
      joins.push((await requests.next()).value.request.value);
      yield { joined: { consumer: { maxAttempts: 3 } } };
      yield* scripts.shift()!(requests);
    },
    listParkedChanges: ({ pageToken }) => (pageToken ? { parkedChanges: [{ parkedId: "2" }] } : { parkedChanges: [{ parkedId: "1" }], nextPageToken: "more" }),
    replayParkedChanges: (request) => (requested.push(request), { replayed: 2n }),
    deleteParkedChanges: () => ({ deleted: 3n }),
    getConsumer: ({ name }) => ({ consumer: { name } }),
  }),
);
const client = sdk.connect({ address: server.address, app: "shop", userId: "alice" });
after(() => (client.close(), server.close()));
beforeEach(() => ((scripts = []), (joins.length = 0)));

const delivery = (deliveryId: number, partition = 0, attempt = 1) => ({ deliveryId: BigInt(deliveryId), partition, attempt, change: { session: { sessionId: `s${partition}` }, resumeToken: `${deliveryId}` } });
const idOf = ({ change }: sdk.Delivered) => Number(change.resumeToken);

/** Reads outcomes until all of these deliveries have one. */
async function outcomes(requests: Requests, count: number): Promise<string[]> {
  const found: string[] = [];
  while (found.length < count) {
    const { request } = (await requests.next()).value as pb.ConsumeRequest;
    if (request.case === "acknowledge") found.push(...request.value.deliveryIds.map((id) => `ack ${id}`));
    if (request.case === "reject") found.push(`${request.value.park ? "park" : "reject"} ${request.value.deliveryId} ${request.value.reason}`);
  }
  return found.sort();
}

/** Runs a consumer against one script until the script ends; returns what the script returned. */
async function worked(script: (requests: Requests) => AsyncGenerator<Frame, unknown>, handler: sdk.Handler, options?: sdk.ConsumerOptions) {
  const stop = new AbortController();
  let result: unknown;
  scripts = [
    async function* (requests) {
      result = yield* script(requests);
      stop.abort();
      while (!(await requests.next()).done); // the member leaves
    },
  ];
  await client.consumer("indexer").run(handler, options, { signal: stop.signal });
  return result;
}

test("handled changes are acknowledged, and the join has all options", async () => {
  const options: sdk.ConsumerOptions = { anyUser: true, labels: { a: "b" }, filter: { roles: ["user"] }, from: "beginning", memberId: "m", maxOutstanding: 9, maxAttempts: 2, ackTimeoutMs: 1500, partitions: 4 };
  const seen: number[] = [];
  const found = await worked(async function* (requests) {
    yield { deliveries: [delivery(1), delivery(2), delivery(3, 1)] };
    return outcomes(requests, 3);
  }, (each) => void seen.push(idOf(each)), options);
  assert.deepEqual([found, seen.sort()], [["ack 1", "ack 2", "ack 3"], [1, 2, 3]]);
  const [join] = joins;
  assert.deepEqual([join!.name, join!.scope!.userId, join!.scope!.app, join!.scope!.labels, join!.fromBeginning], ["indexer", "", "shop", { a: "b" }, true]);
  assert.deepEqual([join!.memberId, join!.maxOutstanding, join!.maxAttempts, join!.partitions, join!.ackTimeout!.nanos, join!.filter!.roles], ["m", 9, 2, 4, 500_000_000, [sdk.Role.USER]]);
});

test("a rejected change comes again, and the later ones of its partition are not handled before", async () => {
  const seen: string[] = [];
  const found = await worked(
    async function* (requests) {
      yield { deliveries: [delivery(1), delivery(2)] };
      const first = await outcomes(requests, 1);
      yield { deliveries: [delivery(3, 0, 2), delivery(4, 0, 1)] };
      return [...first, ...(await outcomes(requests, 2))];
    },
    (each) => {
      seen.push(`${idOf(each)}.${each.attempt}`);
      if (idOf(each) === 1) throw new Error("broken");
    },
  );
  assert.deepEqual([seen, found], [["1.1", "3.2", "4.1"], ["reject 1 Error: broken", "ack 3", "ack 4"]]);
});

test("Park parks a change at once, and the later ones are handled", async () => {
  const found = await worked(
    async function* (requests) {
      yield { deliveries: [delivery(1), delivery(2)] };
      return outcomes(requests, 2);
    },
    (each) => {
      if (idOf(each) === 1) throw new sdk.Park("poison");
    },
  );
  assert.deepEqual(found, ["ack 2", "park 1 poison"]);
});

test("handlers of different partitions run at once up to the concurrency, those of one in order", async () => {
  let [running, most] = [0, 0];
  const order: number[] = [];
  await worked(
    async function* (requests) {
      yield { deliveries: [delivery(1, 1), delivery(2, 1), delivery(3, 2), delivery(4, 3), delivery(5, 4)] };
      return outcomes(requests, 5);
    },
    async (each) => {
      most = Math.max(most, ++running);
      if (each.partition === 1) order.push(idOf(each));
      await new Promise((resolve) => setTimeout(resolve, 20));
      running--;
    },
    { concurrency: 2 },
  );
  assert.deepEqual([most, order], [2, [1, 2]]);
});

test("a member joins again after a broken stream, and other errors end it", async () => {
  scripts = [
    async function* () {
      throw serverError(Code.Unavailable, errorInfo("SERVER_DRAINING"));
    },
    async function* () {
      throw serverError(Code.FailedPrecondition, errorInfo("CONSUMER_MISMATCH"));
    },
  ];
  await assert.rejects(client.consumer("c").run(() => {}), (error) => sdk.isReason(error, "CONSUMER_MISMATCH"));
  assert.equal(joins.length, 2);
});

test("an error that ends a run ends its handlers", async () => {
  scripts = [
    async function* () {
      yield { deliveries: [delivery(1)] };
      await new Promise((resolve) => setTimeout(resolve, 50));
      throw serverError(Code.NotFound, errorInfo("CONSUMER_NOT_FOUND"));
    },
  ];
  const handler: sdk.Handler = (_, { signal }) => new Promise((resolve) => signal.addEventListener("abort", resolve));
  await assert.rejects(client.consumer("c").run(handler), (error) => sdk.isReason(error, "CONSUMER_NOT_FOUND"));
});

test("an aborted run aborts its handlers, acknowledges what they finish, and starts no more", async () => {
  const [stop, seen] = [new AbortController(), [] as number[]];
  let found: Promise<string[]> | undefined;
  scripts = [
    async function* (requests) {
      yield { deliveries: [delivery(1), delivery(2), delivery(3, 1)] };
      found = outcomes(requests, 1);
      await found;
      while (!(await requests.next()).done);
    },
  ];
  await client.consumer("c").run(
    async (each, { signal }) => {
      seen.push(idOf(each));
      if (seen.length === 2) setTimeout(() => stop.abort(), 20);
      await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
      if (idOf(each) === 3) throw new Error("given up");
    },
    {},
    { signal: stop.signal },
  );
  assert.deepEqual([seen.sort(), await found], [[1, 3], ["ack 1"]]);
});

test("deliveries are settled by the loop, and what is not settled is not acknowledged", async () => {
  let found: string[] = [];
  let rest: unknown;
  scripts = [
    async function* (requests) {
      yield { deliveries: [delivery(1, 1), delivery(2, 2), delivery(3, 3), delivery(4, 4)] };
      found = await outcomes(requests, 3);
      rest = (await requests.next()).value;
    },
  ];
  let count = 0;
  for await (const each of client.consumer("c").deliveries()) {
    if (idOf(each) === 1) each.acknowledge();
    if (idOf(each) === 2) each.reject("later");
    if (idOf(each) === 3) each.park("never");
    if (++count === 4) {
      while (found.length < 3) await new Promise((resolve) => setTimeout(resolve, 5));
      break;
    }
  }
  assert.deepEqual([found, rest], [["ack 1", "park 3 never", "reject 2 Error: later"], undefined]);
});

test("parked changes are listed, replayed and deleted, and an empty list is not all", async () => {
  const consumer = client.consumer("c");
  const ids = [];
  for await (const { parkedId } of consumer.parked()) ids.push(parkedId);
  assert.deepEqual([ids, await consumer.replayParked("all"), await consumer.replayParked(["1"]), await consumer.deleteParked("all")], [["1", "2"], 2n, 2n, 3n]);
  assert.deepEqual([await consumer.replayParked([]), await consumer.deleteParked([])], [0n, 0n]);
  assert.deepEqual(requested.map(({ parkedIds }) => parkedIds), [[], ["1"]]);
  assert.equal((await consumer.get()).consumer!.name, "c");
});

test("after the last attempt no delivery of the partition is void", () => {
  const member = new Member();
  member.joined(create(pb.JoinedSchema, { consumer: { maxAttempts: 2 } }));
  const given = (attempt: number) => create(pb.DeliverySchema, { deliveryId: 1n, attempt });
  assert.equal(member.reject(given(1), new Error("x")), false);
  assert.equal(member.counts(given(1)), false);
  assert.equal(member.counts(given(2)), true);
  assert.equal(member.reject(given(2), new Error("x")), true);
  assert.equal(member.counts(given(1)), true);
});
