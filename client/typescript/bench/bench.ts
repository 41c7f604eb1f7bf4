// bench ADDRESS SECONDS: measures the cost of the SDK over the generated stub and prints one JSON object. Both are measured
// alternately in the same run, so that other load affects both, and over connections with the same settings, so that only the
// hand-written layer differs.

import { create } from "@bufbuild/protobuf";
import { createClient } from "@connectrpc/connect";

import { grpcTransport } from "../src/rpc/grpc.js";
import * as sdk from "../src/node.js";
import * as pb from "../src/v1.js";

const BLOCK = 5;
const EVENTS = 20_000;
const BATCH = 10; // one change each, as agents append; larger batches would hide the cost per change
const ROUNDS = 3;

const address = process.argv[2] ?? "127.0.0.1:7443";
const seconds = Number(process.argv[3] ?? 10);
const app = `bench-${process.pid}-${Date.now()}`;
const text = "x".repeat(1024);
const client = sdk.connect({ address, app, userId: "bench" });
const [bare, disconnect] = grpcTransport(address, false);
const stub = { events: createClient(pb.EventService, bare), subscriptions: createClient(pb.SubscriptionService, bare) };
const ref = (sessionId: string) => create(pb.SessionRefSchema, { app, userId: "bench", sessionId });

function event(): sdk.SessionEvent {
  const message = { role: sdk.Role.USER, parts: [{ content: { case: "text", value: text } as const }] };
  return create(pb.SessionEventSchema, { eventId: sdk.newEventId(), message });
}

async function times(count: number, into: number[], call: () => Promise<unknown>): Promise<void> {
  for (let n = 0; n < count; n++) {
    const began = performance.now();
    await call();
    into.push((performance.now() - began) * 1000);
  }
}

function summary(microseconds: number[]) {
  const sorted = microseconds.sort((one, other) => one - other);
  const at = (share: number) => Math.round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]!);
  return { median_us: at(0.5), p99_us: at(0.99), calls: sorted.length };
}

async function unary() {
  const session = ref("unary");
  const plain = () => stub.events.appendEvents({ session, events: [event()] });
  const written = () => client.session(session).append(sdk.user(text));
  await client.session(session).append(event(), { createIfMissing: true });
  await times(200, [], plain);
  await times(200, [], written);
  const [ofStub, ofSdk]: [number[], number[]] = [[], []];
  for (const end = performance.now() + seconds * 1000; performance.now() < end; ) {
    // Random order, so that effects of one block on the next, such as garbage, affect both.
    const stubFirst = Math.random() < 0.5;
    if (stubFirst) await times(BLOCK, ofStub, plain);
    await times(BLOCK, ofSdk, written);
    if (!stubFirst) await times(BLOCK, ofStub, plain);
  }
  return { stub: summary(ofStub), sdk: summary(ofSdk) };
}

/** Returns the events per second until all of them were received. */
async function rate(counts: AsyncIterable<number>): Promise<number> {
  const began = performance.now();
  let seen = 0;
  for await (const count of counts) {
    seen += count;
    if (seen >= EVENTS) break;
  }
  return Math.round(seen / ((performance.now() - began) / 1000));
}

const eventsOf = ({ kind }: sdk.Change) => (kind.case === "batch" ? kind.value.events.length : 0);

async function* throughStub(session: sdk.SessionRef): AsyncGenerator<number> {
  const stop = new AbortController();
  const request = { session, start: { case: "afterSeq", value: 0n } as const };
  try {
    for await (const frame of stub.subscriptions.watchSession(request, { signal: stop.signal })) {
      for (const change of frame.changes) yield eventsOf(change);
    }
  } finally {
    stop.abort();
  }
}

async function* throughSdk(session: sdk.SessionRef): AsyncGenerator<number> {
  for await (const change of client.session(session).watch({ from: "beginning" })) yield eventsOf(change);
}

async function stream() {
  const session = ref("stream");
  for (let n = 0; n < EVENTS; n += BATCH) {
    await client.session(session).append(Array.from({ length: BATCH }, event), { createIfMissing: true });
  }
  let [ofStub, ofSdk] = [0, 0];
  await rate(throughStub(session));
  await rate(throughSdk(session));
  for (let round = 0; round < ROUNDS; round++) {
    ofStub = Math.max(ofStub, await rate(throughStub(session)));
    ofSdk = Math.max(ofSdk, await rate(throughSdk(session)));
  }
  return { stub_per_s: ofStub, sdk_per_s: ofSdk, events: EVENTS };
}

const result = { language: "typescript", unary: await unary(), stream: await stream() };
process.stdout.write(`${JSON.stringify(result)}\n`);
client.close();
disconnect();
