// An agent loop: reads the context, appends the user's message, computes an answer, and appends it. Another part of the program
// watches the session. A rule replaces the model and calls one tool. THREADKEEP_ADDRESS specifies the server.

import { assistant, connect, MemoryProvider, Role, system, textOf, toolCall, toolResult, user } from "@threadkeep/client";

const client = connect({ app: "agent-loop", userId: "alice" });
const session = client.session(`flight-${Date.now()}`);
const arrivals = { BA117: "18:40" };

/** Returns the next message of the model for these events. */
function think(events) {
  const last = events[events.length - 1];
  const result = last.message.parts[0].content;
  if (result.case === "toolResult") return assistant(`It lands at ${JSON.parse(result.value.structuredJson).arrives}.`);
  const flight = /[A-Z]{2}\d+/.exec(textOf(last))?.[0];
  if (flight === undefined) return assistant("Which flight?");
  return assistant(["Let me look.", toolCall(`call-${last.seq}`, "arrival", { flight })]);
}

/** Runs the tools that the answer calls and returns their results. */
function runTools(answer) {
  return answer.message.parts
    .filter((part) => part.content.case === "toolCall")
    .map(({ content: { value: call } }) => {
      const { flight } = JSON.parse(call.argumentsJson);
      return toolResult(call.id, { name: call.name, json: { flight, arrives: arrivals[flight] } });
    });
}

async function turn(text) {
  await session.append(user(text));
  for (;;) {
    const { events } = await session.getContext(MemoryProvider.limitedWindow().maxTurns(10));
    const answer = think(events);
    const results = runTools(answer);
    await session.append([answer, ...results]);
    if (results.length === 0) return;
  }
}

/** Prints the session as it grows, until `count` events were printed. */
async function follow(changes, count) {
  for await (const { kind } of changes) {
    if (kind.case !== "batch") continue;
    for (const event of kind.value.events) {
      const role = Role[event.message.role].toLowerCase();
      console.log(`${event.seq} ${role}: ${textOf(event) || event.message.parts[0].content.value.structuredJson}`);
      if (--count === 0) return;
    }
  }
}

await session.append(system("You help travelers. Be brief."), { createIfMissing: true });
const following = follow(session.watch({ from: "beginning" }), 7);
await turn("When does it land?");
await turn("BA117, I mean.");
await following;
client.close();
