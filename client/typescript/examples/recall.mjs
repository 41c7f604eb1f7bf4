// Finds what answers a question, and remembers across sessions. THREADKEEP_ADDRESS names the server.

import { assistant, connect, textOf, ToolService, user } from "@threadkeep/client";

const client = connect({ app: "recall", userId: `alice-${Date.now()}` });
const session = "trip";
const said = [user("My daughter is allergic to peanuts."), assistant("Noted."), user("Which flights go to Lisbon in May?")];
await client.append(session, said, { create: true });

for await (const hit of client.search("Are there any flights to Lisbon?", { session })) {
  console.log(`found: ${textOf(hit.event)}`);
  break; // best first: take as many as are of use
}

const memory = client.memory();
const { added } = await memory.addSession(session); // as often as you like: nothing is remembered twice
console.log(`remembered: ${added} events`);
await memory.add("Prefers a window seat.");
const { entries } = await memory.search("What must my daughter not eat, peanuts?");
console.log(`recalled: ${textOf(entries[0])}`);

// The tools of recall, run by the server: declare them to your model, and hand what it asks for to `callTool`.
const { tools } = await client.service(ToolService).listTools({});
console.log(`tools: ${tools.flatMap(({ declared, name }) => (declared ? [name] : [])).join(", ")}`);

const { deleted } = await memory.delete({ all: true });
console.log(`forgotten: ${deleted} memories`);
client.close();
