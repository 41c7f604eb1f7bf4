import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { after, beforeEach, test } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

import { create } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";

import * as sdk from "../src/node.js";
import * as pb from "../src/v1.js";
import { connect as connectWeb } from "../src/web.js";
import { follow } from "../src/feed/watch.js";
import { batch, errorInfo, idsOf, serve, serveHttp, serverError } from "./support.js";

type Request = pb.WatchSessionRequest | pb.WatchAllRequest;
type Script = (request: Request, signal: AbortSignal) => AsyncGenerator<sdk.Change[]>;

let scripts: Script[] = [];
const requests: Request[] = [];
const open = new Set<AbortSignal>();

async function* answer(request: Request, { signal }: { signal: AbortSignal }) {
  requests.push(request);
  open.add(signal);
  signal.addEventListener("abort", () => open.delete(signal)); // a handler that waits for the reader does not return
  try {
    for await (const changes of scripts.shift()!(request, signal)) yield { changes };
  } finally {
    open.delete(signal);
  }
}

const server = await serve((router) => router.service(pb.SubscriptionService, { watchSession: answer, watchAll: answer }));
const client = sdk.connect({ address: server.address, app: "a", userId: "u" });
after(async () => {
  client.close();
  await server.close();
});
beforeEach(() => {
  scripts = [];
  requests.length = 0;
});

const started = create(pb.ChangeSchema, { kind: { case: "checkpoint", value: { kind: sdk.CheckpointKind.STARTED } }, resumeToken: "t0" });
const forever = (signal: AbortSignal) => new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));

/** Waits for this many requests before acting; late requests would consume the script of the next test. */
async function arrived(count: number, then: () => void): Promise<void> {
  while (requests.length < count) await new Promise((resolve) => setTimeout(resolve, 5));
  setTimeout(then, 50);
}

async function settled(): Promise<void> {
  for (const end = performance.now() + 30_000; open.size > 0; await new Promise((resolve) => setTimeout(resolve, 5))) {
    assert.ok(performance.now() < end, "the call is not released");
  }
}

test("a watch resumes after a broken stream, an ended stream, and a shutdown", async () => {
  const got: string[][] = [];
  scripts = [
    async function* () {
      yield [started, batch("s", 1, ["e1"])];
      yield [batch("s", 2, ["e2"], { continues: true })];
      while (got.length === 0) await new Promise((resolve) => setTimeout(resolve, 5)); // a cut may lose what was not read
      server.cut();
      await new Promise((resolve) => setTimeout(resolve, 50));
    },
    async function* () {
      yield [batch("s", 1, ["e1"]), batch("s", 2, ["e2"], { continues: true }), batch("s", 2, ["e3"])];
    },
    async function* () {
      throw serverError(Code.Unavailable, errorInfo("SERVER_DRAINING"));
    },
    async function* () {
      throw serverError(Code.Canceled);
    },
    async function* (_, signal) {
      yield [batch("s", 3, ["e4"])];
      await forever(signal);
    },
  ];
  for await (const change of client.session("s").watch({ from: { afterSeq: 0n } })) {
    got.push(idsOf(change));
    if (got.length === 3) break;
  }
  assert.deepEqual(got, [["e1"], ["e2", "e3"], ["e4"]]);
  const starts = requests.map(({ start }) => (start.case === "resumeToken" ? start.value : start.case));
  assert.deepEqual(starts, ["afterSeq", "t1", "t2", "t2", "t2"]);
  await settled();
});

test("checkpoints are delivered on request, and their tokens are always used", async () => {
  for (const checkpoints of [true, false]) {
    scripts = [
      async function* () {
        yield [started];
      },
      async function* (request, signal) {
        assert.equal(request.start.value, "t0");
        yield [batch("s", 1, ["e1"])];
        await forever(signal);
      },
    ];
    const watch = client.session("s").watch({ checkpoints });
    assert.equal((await watch.next()).value!.kind.case, checkpoints ? "checkpoint" : "batch");
    await watch.return();
    await settled();
  }
});

test("other errors end a watch", async () => {
  scripts = [
    async function* () {
      throw serverError(Code.OutOfRange, errorInfo("RESUME_POSITION_EXPIRED", { oldest_seq: "7" }));
    },
  ];
  await assert.rejects(client.session("s").watch({ from: { resumeToken: "old" } }).next(), (error) => sdk.isReason(error, "RESUME_POSITION_EXPIRED") && error.metadata["oldest_seq"] === "7");
  assert.equal(requests.length, 1);
});

test("consecutive retries are counted, and any frame resets the count", async () => {
  const fails: Script = async function* () {
    throw serverError(Code.Unavailable);
  };
  const lives: Script = async function* () {
    yield [started];
  };
  scripts = [fails, lives, fails, fails];
  await assert.rejects(client.session("s").watch({ maxRetries: 1 }).next(), { code: Code.Unavailable });
  assert.equal(requests.length, 3, "one failure, a life, whose end is the first of a new row, and one more");
});

test("an aborted signal ends a watch with Canceled, and leaving the loop ends the call", async () => {
  const quiet: Script = async function* (_, signal) {
    yield [started];
    await forever(signal);
  };
  scripts = [quiet, quiet];
  const stop = new AbortController();
  const aborted = client.session("s").watch({}, { signal: stop.signal }).next();
  await arrived(1, () => stop.abort());
  await assert.rejects(aborted, { code: Code.Canceled });
  await settled();
  const left = client.session("s").watch({ checkpoints: true });
  await left.next();
  await left.return();
  await settled();
});

test("ended watches keep no listeners", async () => {
  const warnings: Error[] = [];
  const warned = (warning: Error) => warnings.push(warning);
  process.on("warning", warned);
  const stop = new AbortController();
  for (let n = 0; n < 12; n++) {
    scripts = [async function* (_, signal) {
      yield [started];
      await forever(signal);
    }];
    for await (const _ of client.session("s").watch({ checkpoints: true }, { signal: stop.signal })) break;
  }
  await settled();
  process.off("warning", warned);
  assert.deepEqual(warnings, []);
  assert.equal(getEventListeners(stop.signal, "abort").length, 0);
});

test("a watch over fetch ends on both sides when it is aborted", async () => {
  setFlagsFromString("--expose_gc");
  const collectGarbage = runInNewContext("gc") as () => void;
  let ended = () => {};
  const end = new Promise<void>((resolve) => (ended = resolve));
  const http = await serveHttp((router) =>
    router.service(pb.SubscriptionService, {
      async *watchSession(_, { signal }) {
        signal.addEventListener("abort", ended);
        yield { changes: [started] };
        await forever(signal);
      },
    }),
  );
  const web = connectWeb({ address: http.address, userId: "u" });
  const stop = new AbortController();
  const watch = web.session("s").watch({ checkpoints: true }, { signal: stop.signal });
  await watch.next();
  collectGarbage();
  await new Promise((resolve) => setTimeout(resolve, 50));
  collectGarbage();
  const waiting = watch.next();
  setTimeout(() => stop.abort(), 50);
  await assert.rejects(waiting, { code: Code.Canceled });
  await end;
  await http.close();
});

test("closing the client ends a watch, also in a pause", async () => {
  const own = sdk.connect({ address: server.address });
  scripts = [
    async function* () {
      throw serverError(Code.Unavailable, errorInfo("SERVER_DRAINING"), { type: "google.rpc.RetryInfo", value: Uint8Array.of(10, 2, 8, 30) });
    },
  ];
  const next = own.session("s").watch().next();
  await arrived(1, () => own.close());
  await assert.rejects(next, { message: "Canceled: the client is closed" });
});

test("a slow reader blocks the server instead of filling memory", async () => {
  let sent = 0;
  const noise = Buffer.from(Array.from({ length: 75_000 }, () => Math.random() * 256)).toString("base64"); // gzip compresses the rest
  const filler = batch("s", 0, [noise]);
  scripts = [
    async function* (_, signal) {
      for (; sent < 1000 && !signal.aborted; sent++) yield [filler];
    },
  ];
  const watch = client.session("s").watch();
  await watch.next();
  await new Promise((resolve) => setTimeout(resolve, 500));
  assert.ok(sent < 200, `${sent} of 1000 messages of 100 kB were sent to a reader of one`);
  await watch.return();
  await settled();
});

test("a silent stream is reopened, a slow reader is not", async () => {
  let opened = 0;
  async function* open(_token: string | undefined, { signal }: { signal?: AbortSignal }) {
    opened += 1;
    yield { changes: [batch("s", opened, [`e${opened}`])] };
    await new Promise((_, reject) => signal!.addEventListener("abort", () => reject(signal!.reason)));
  }
  const watch = follow(open, { maxRetries: 1 }, {}, { address: "x", closed: new AbortController().signal, logger: undefined }, 100);
  await watch.next();
  await new Promise((resolve) => setTimeout(resolve, 300));
  assert.equal(opened, 1, "the reader was busy");
  assert.deepEqual(idsOf((await watch.next()).value!), ["e2"], "silence: it was opened again");
  assert.equal(opened, 2);
  await watch.return();
});

test("a watch starts now by default, or at its token", async () => {
  const start = async (watch: AsyncGenerator) => {
    scripts = [
      async function* () {
        yield [batch("s", 1, ["e1"])];
      },
    ];
    await watch.next();
    return requests.pop()!.start;
  };
  const session = client.session("s");
  assert.deepEqual(await start(session.watch()), { case: "liveOnly", value: true });
  assert.deepEqual(await start(session.watch({ from: "beginning" })), { case: "afterSeq", value: 0n });
  assert.deepEqual(await start(session.watch({ from: { afterSeq: 7 } })), { case: "afterSeq", value: 7n });
  assert.deepEqual(await start(session.watch({ from: { resumeToken: "t" } })), { case: "resumeToken", value: "t" });
  assert.deepEqual(await start(client.watchAll()), { case: "liveOnly", value: true });
  assert.deepEqual(await start(client.watchAll({ from: "beginning" })), { case: "fromBeginning", value: true });
});
