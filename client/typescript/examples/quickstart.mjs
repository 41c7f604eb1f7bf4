// Appends two events, reads the context of an agent, searches, and handles an error. THREADKEEP_ADDRESS specifies the server.

import { connect, assistant, isReason, textOf, user } from "@threadkeep/client";

const client = connect({ app: "quickstart", userId: "alice" });
const session = `trip-${Date.now()}`;

const { logVersion } = await client.append(session, [user("Is BA117 on time?"), assistant("Yes, it is.")], { create: true });
console.log(`appended: log version ${logVersion}`);

const context = await client.context(session);
for (const event of context.events) console.log(`${event.seq}: ${textOf(event)}`);

for await (const hit of client.search("ba117", { session })) console.log(`found: ${textOf(hit.event)}`);

try {
  await client.append("nowhere", user("Hello?"));
} catch (error) {
  if (!isReason(error, "SESSION_NOT_FOUND")) throw error;
  console.log(`refused: ${error.reason} of session ${error.metadata.session_id}`);
}
client.close();
