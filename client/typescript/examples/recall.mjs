// Searches a session by a question, and remembers across sessions. THREADKEEP_ADDRESS specifies the server.

import { assistant, connect, textOf, user } from "@threadkeep/client";

const client = connect({ app: "recall", userId: `alice-${Date.now()}` });
const session = client.session("trip");
const said = [user("My daughter is allergic to peanuts."), assistant("Noted."), user("Which flights go to Lisbon in May?")];
await session.append(said, { createIfMissing: true });

for await (const hit of session.search("Are there any flights to Lisbon?")) {
  console.log(`found: ${textOf(hit.event)}`);
  break; // hits come best first; take as many as you need
}

const memory = client.memory();
const { added } = await memory.addSession(session.ref); // safe to repeat: each event is remembered once
console.log(`remembered: ${added} events`);
await memory.add("Prefers a window seat.");
const { entries } = await memory.search("What must my daughter not eat, peanuts?");
console.log(`recalled: ${textOf(entries[0])}`);

// The server runs the recall tools: declare them to your model, and pass its calls to `callTool`.
const tools = await client.tools();
console.log(`tools: ${tools.flatMap(({ declared, name }) => (declared ? [name] : [])).join(", ")}`);

const { deleted } = await memory.delete({ all: true });
console.log(`forgotten: ${deleted} memories`);
client.close();
