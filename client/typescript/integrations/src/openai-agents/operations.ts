// History transactions: operations that are applied once, also if the answer is lost.
//
// The server stores the operation id with the change. A repeated append is the same request, which the server recognizes. A
// repeated replacement is not, because it names the events of the suffix, which is another one afterwards: its first new event
// therefore has the fingerprint of the transaction.

import { createHash } from "node:crypto";

import { isReason, newEventId, Role, type EventInit, type SessionHandle } from "@threadkeep/client";

import { jsonOf, sorted } from "../formats/json.js";

const OPERATION = "openai-agents-js.operation";
const FINGERPRINT = "openai-agents-js.fingerprint";
const MARKER = `${OPERATION}/1`;
const LONGEST_ID = 255;

const digest = (text: string) => createHash("sha256").update(text).digest("hex");

/** Returns the id under which the server stores an operation: the framework's, unless the server does not accept it. */
export const operationKey = (id: string): string =>
  Buffer.byteLength(id) <= LONGEST_ID && !/[\u0000-\u001f\u007f]/.test(id) ? id : `sha256-${digest(id)}`;

/** Returns the same text for structurally equal transactions. */
export const fingerprintOf = (transaction: unknown): string => digest(jsonOf(sorted(transaction)));

/** Returns the events with the fingerprint in the first one; without events, one that no framework shows as a message. */
export function recorded(operation: string, fingerprint: string, events: readonly EventInit[]): EventInit[] {
  const [first = marker(), ...rest] = events;
  return [{ ...first, metadataJson: JSON.stringify({ [OPERATION]: digest(operation), [FINGERPRINT]: fingerprint }) }, ...rest];
}

const marker = (): EventInit => ({
  message: { role: Role.ASSISTANT },
  synthetic: true,
  compactionSource: OPERATION,
  native: { format: MARKER, content: new TextEncoder().encode("{}") },
});

/** Returns whether a replacement with this fingerprint was applied under this operation id, and not cleared since. */
export async function wasApplied(session: SessionHandle, operation: string, fingerprint: string): Promise<boolean> {
  const filter = { metadata: { [OPERATION]: digest(operation) } };
  for await (const { metadataJson } of session.events({ filter, order: "desc" })) {
    const metadata = JSON.parse(metadataJson) as Record<string, unknown>;
    return metadata[FINGERPRINT] === fingerprint && isRemembered(session, operation);
  }
  return false;
}

/** Returns whether the server has stored this operation id: it then refuses another request with it. */
async function isRemembered(session: SessionHandle, operationId: string): Promise<boolean> {
  try {
    await session.replaceSuffix([newEventId()], [], { operationId }); // No window ends with a new id.
    return false;
  } catch (error) {
    if (isReason(error, "OPERATION_CONFLICT")) return true;
    if (isReason(error, "VERSION_MISMATCH")) return false;
    throw error;
  }
}
