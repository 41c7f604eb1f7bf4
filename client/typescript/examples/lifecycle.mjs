// Sessions from creation to deletion, with labels, state, a filter, a participant that only reads, a removal, a fork, a rewind,
// and a policy.
// THREADKEEP_ADDRESS specifies the server.

import { assistant, Authors, connect, eventFilter, isReason, MemoryProvider, policy, Reason, textOf, turnsOver, turnWindow, user } from "@threadkeep/client";

const client = connect({ app: "lifecycle", userId: `alice-${Date.now()}` });
const trip = client.session("trip");

const { created } = await trip.create({ ttlMs: 30 * 86_400_000, labels: { team: "eu" }, metadata: { title: "Lisbon" }, state: { cart: { items: 1 } } });
const { etag } = await trip.get();
const { labels } = await trip.update({ setLabels: { priority: "high" }, metadataPatch: { title: "Lisbon in May" }, etag });
console.log(`created: ${created}, labels: ${Object.keys(labels).sort().join(" ")}`);
for await (const { ref } of client.sessions({ labels: { team: "eu" } })) console.log(`listed: ${ref.sessionId}`);

const { values, version } = await trip.state().get();
await trip.state().patch({ cart: { items: values.cart.items + 1 } }, { expect: { version } });
console.log(`cart: ${(await trip.state().get()).texts.cart}`);

await trip.append([user("Is BA117 on time?"), assistant("Yes.", { authorRole: "planner" }), assistant("No!", { authorRole: "critic" })], { expect: { logVersion: 0 } });
const recent = eventFilter({ lastN: 10 }).merge(eventFilter({ authors: Authors.include({ roles: ["planner"] }) }));
for await (const event of trip.events({ filter: recent })) console.log(`planner: ${textOf(event)}`);

const critic = trip.withMemory(MemoryProvider.readOnly().filtered(Authors.exclude({ roles: ["critic"] })));
const { dropped } = await critic.append(user("I only read."));
console.log(`the critic sees ${(await critic.getContext()).events.length} events; its append is dropped: ${dropped}`);

const popped = await trip.pop();
console.log(`popped: ${textOf(popped.events[0])}`);

const fork = await trip.fork("trip-again", { at: { seq: 1 }, labels: { kind: "retry" } });
const { texts } = await client.session(fork.session.ref).state().get();
console.log(`forked at ${fork.session.parent.atSeq}, with cart ${texts.cart}`);
const { removed, restored } = await trip.rewind({ seq: 1 });
console.log(`rewound: ${removed} event left, ${restored} came back`);

await trip.policy().set(policy(turnsOver(50), turnWindow(20)));
const { effectiveScope } = await trip.policy().get();
console.log(`policy of: ${effectiveScope.kind.case}`);

const { deletedEvents } = await trip.delete();
console.log(`deleted: ${deletedEvents} events`);
try {
  await trip.get();
} catch (error) {
  if (!isReason(error, Reason.SESSION_NOT_FOUND)) throw error;
  console.log("gone");
}
client.close();
