// The types that the handles share.

import { create, type DescService, type MessageInitShape } from "@bufbuild/protobuf";
import { durationFromMs, timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { Client as ServiceClient } from "@connectrpc/connect";

import { SessionRefSchema, type SessionRef } from "./gen/threadkeep/v1/session_pb.js";
import type { ExpirySchema } from "./gen/threadkeep/v1/session_service_pb.js";
import type { Logger } from "./rpc/settings.js";

/** A session: an id, which the client completes with its app and user, or all that identifies it. */
export type SessionLike = string | { app?: string; userId?: string; sessionId: string };

/** A JSON value, or JSON text, which is stored verbatim. */
export type Json = string | object;

/** A version or a seq of the server's. They are `bigint` in messages; options also accept numbers. */
export type Int = number | bigint;

/** A page of a list. */
export interface PageOptions {
  /** Maximum number of items per page; 0 is the server's default, at most 1,000. */
  pageSize?: number | undefined;
  /** `nextPageToken` of the previous page; all other options must be unchanged. Ignored by the iterators. */
  pageToken?: string | undefined;
}

/** The expiry of a session: at most one; none is the server's default, 60 days unless configured otherwise. */
export interface ExpiryOptions {
  /** Milliseconds from now. */
  ttlMs?: number | undefined;
  /** Time of expiry, not in the past. */
  expireTime?: Date | undefined;
  /** No expiry. */
  neverExpires?: boolean | undefined;
}

/**
 * A point in the history of a session: an event, by its seq or its id; the end of an invocation, which is its last event; or the
 * moment directly after the change to a log version. If a compaction or a removal stored the event, all of that change belongs to
 * the point.
 */
export type Point =
  | { seq: Int; eventId?: never; invocationId?: never; logVersion?: never }
  | { eventId: string; seq?: never; invocationId?: never; logVersion?: never }
  | { invocationId: string; seq?: never; eventId?: never; logVersion?: never }
  | { logVersion: Int; seq?: never; eventId?: never; invocationId?: never };

/** What handles need of the client. */
export interface Caller {
  readonly address: string;
  readonly app: string;
  readonly userId: string;
  /** Aborted when the client is closed. */
  readonly closed: AbortSignal;
  readonly logger: Logger | undefined;
  raw<S extends DescService>(service: S): ServiceClient<S>;
}

/** Returns the complete reference of a session. */
export function refOf({ app, userId }: Pick<Caller, "app" | "userId">, session: SessionLike): SessionRef {
  return create(SessionRefSchema, typeof session === "string" ? { app, userId, sessionId: session } : session);
}

/** Returns the expiry; undefined for none. Throws TypeError for more than one. */
export function expiryOf({ ttlMs, expireTime, neverExpires }: ExpiryOptions): MessageInitShape<typeof ExpirySchema> | undefined {
  const given = [ttlMs !== undefined, expireTime !== undefined, neverExpires === true].filter(Boolean).length;
  if (given > 1) throw new TypeError("set at most one of ttlMs, expireTime and neverExpires");
  if (ttlMs !== undefined) return { kind: { case: "ttl", value: durationFromMs(ttlMs) } };
  if (expireTime !== undefined) return { kind: { case: "expireTime", value: timestampFromDate(expireTime) } };
  return neverExpires ? { kind: { case: "neverExpires", value: true } } : undefined;
}

/** Returns the point as it is sent; without one, undefined. Throws TypeError for several. */
export function pointOf(point: Point | undefined) {
  const { seq, eventId, invocationId, logVersion } = point ?? {};
  if ([seq, eventId, invocationId, logVersion].filter((each) => each !== undefined).length > 1) {
    throw new TypeError("a point is one of seq, eventId, invocationId and logVersion");
  }
  if (seq !== undefined) return { case: "atSeq", value: BigInt(seq) } as const;
  if (eventId !== undefined) return { case: "atEventId", value: eventId } as const;
  if (invocationId !== undefined) return { case: "atInvocationId", value: invocationId } as const;
  return logVersion === undefined ? undefined : ({ case: "atLogVersion", value: BigInt(logVersion) } as const);
}

/** Returns the JSON text of a value; text is kept. */
export const jsonText = (value: Json) => (typeof value === "string" ? value : JSON.stringify(value));

/** Returns the JSON text of each value; a text becomes a JSON string. Throws TypeError for a value without a JSON form. */
export function jsonTexts(values: Readonly<Record<string, unknown>> = {}): Record<string, string> {
  return Object.fromEntries(
    Object.entries(values).map(([key, value]) => {
      const text = JSON.stringify(value) as string | undefined;
      if (text === undefined) throw new TypeError(`the value of "${key}" has no JSON form`);
      return [key, text];
    }),
  );
}
