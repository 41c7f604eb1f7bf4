import { create, isMessage, type MessageInitShape } from "@bufbuild/protobuf";

import { type Session, SessionRefSchema, SessionSchema, type SessionRef } from "./gen/recollect/v1/session_pb.js";

/** A 64-bit integer where one is given: a bigint, or a number that is exact. What is read is always bigint. */
export type Int64 = bigint | number;

/** A session: its id, which the client completes with its app and user; or a SessionRef, taken as it is; or a Session. */
export type SessionLike = string | Session | MessageInitShape<typeof SessionRefSchema>;

/** A value that JSON can express, or JSON text, which is kept verbatim. */
export type Json = string | object;

/** The bigint. Throws RangeError naming the argument for a number that is not exact. */
export function int64(value: Int64, argument: string): bigint {
  if (typeof value === "bigint") return value;
  if (!Number.isSafeInteger(value)) throw new RangeError(`${argument} must be a bigint or a safe integer, not ${value}`);
  return BigInt(value);
}

/** The reference that a session argument means. */
export function sessionRef(session: SessionLike, app: string, userId: string): SessionRef {
  if (typeof session === "string") return create(SessionRefSchema, { app, userId, sessionId: session });
  if (typeof session !== "object" || session === null) throw new TypeError(`session must be an id, a SessionRef or a Session, not ${session}`);
  if (!isMessage(session, SessionSchema)) return create(SessionRefSchema, session);
  if (session.ref === undefined) throw new TypeError("the Session has no ref");
  return session.ref;
}

/** JSON text. Throws TypeError naming the argument for what JSON cannot express. */
export function jsonText(value: Json | undefined, argument: string): string {
  if (value === undefined) return "";
  if (typeof value === "string") return value;
  if (typeof value !== "object" || value === null) throw new TypeError(`${argument} must be an object, an array or JSON text, not ${value}`);
  try {
    return JSON.stringify(value, refuseLoss);
  } catch (error) {
    throw new TypeError(`${argument} is not JSON: ${error instanceof Error ? error.message : error}`);
  }
}

/** JSON.stringify writes null for what it cannot express. */
function refuseLoss(_key: string, value: unknown): unknown {
  if (typeof value === "number" && !Number.isFinite(value)) throw new RangeError(`it has no ${value}`);
  return value;
}
