// Appends batches over a stream, and works on the changes as a named consumer: one is parked and replayed. THREADKEEP_ADDRESS
// specifies the server.

import { connect, Park, textOf, user } from "@threadkeep/client";

const client = connect({ app: `consumer-${Date.now()}`, userId: "alice" });
const consumer = client.consumer(client.app);
const stop = new AbortController();

const texts = ["one", "poison", "three"];
const batches = texts.map((text) => ({ session: text, events: user(text), createIfMissing: true }));
for await (const { index, error } of client.appendStream(batches)) console.log(`${texts[index]}: ${error ?? "stored"}`);

let handled = 0;
async function index({ change, parkedId }) {
  if (change.kind.case !== "batch") return; // a session was created
  const text = textOf(change.kind.value.events[0]);
  if (text === "poison" && !parkedId) throw new Park("cannot be indexed");
  console.log(`handled: ${text}${parkedId && ", replayed"}`);
  if (++handled === 3) stop.abort();
}
const running = consumer.run(index, { from: "beginning", concurrency: 1 }, { signal: stop.signal });

/** Returns the first parked change, once the other changes were handled. */
async function parked() {
  for (;; await new Promise((resolve) => setTimeout(resolve, 50))) {
    if (handled === 2) for await (const change of consumer.parked()) return change;
  }
}
const { reason, parkedId } = await parked();
console.log(`parked: ${reason}`);
await consumer.replayParked([parkedId]);
await running;
await consumer.delete();
client.close();
