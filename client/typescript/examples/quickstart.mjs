// Appends two events, reads the context of an agent, searches, and handles an error. THREADKEEP_ADDRESS specifies the server.

import { assistant, connect, isReason, Reason, textOf, user } from "@threadkeep/client";

const client = connect({ app: "quickstart", userId: "alice" });
const session = client.session(`trip-${Date.now()}`);

const { logVersion } = await session.append([user("Is BA117 on time?"), assistant("Yes, it is.")], { createIfMissing: true });
console.log(`appended: log version ${logVersion}`);

const context = await session.getContext();
for (const event of context.events) console.log(`${event.seq}: ${textOf(event)}`);

for await (const hit of session.search("ba117")) console.log(`found: ${textOf(hit.event)}`);

try {
  await client.session("nowhere").append(user("Hello?"));
} catch (error) {
  if (!isReason(error, Reason.SESSION_NOT_FOUND)) throw error;
  console.log(`refused: ${error.reason} of session ${error.metadata.session_id}`);
}
client.close();
