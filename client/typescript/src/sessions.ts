// Sessions as a whole: creation, updates, lists and erasures.

import type { MessageInitShape } from "@bufbuild/protobuf";
import type { CallOptions } from "@connectrpc/connect";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";

import type { ErasureReceipt } from "./gen/threadkeep/v1/erasure_pb.js";
import type { Session, SessionParentSchema, SessionRef } from "./gen/threadkeep/v1/session_pb.js";
import {
  SessionService,
  type CreateSessionResponse,
  type DeleteExpiredSessionsResponse,
  type ForkSessionResponse,
  type MoveSessionResponse,
  type ListSessionsResponse,
  type ListUsersResponse,
} from "./gen/threadkeep/v1/session_service_pb.js";
import { newEventId } from "./messages.js";
import {
  expiryOf, jsonText, jsonTexts, pointOf, type Caller, type ExpiryOptions, type Int, type Json, type PageOptions, type Point,
} from "./requests.js";
import { orderOf, type OrderName } from "./names.js";
import { narrowed, type Scope } from "./scope.js";

/** Properties of a new session. */
export interface SessionProperties extends ExpiryOptions {
  /** Metadata: a JSON object, or its text, which is stored verbatim. At most 256 KiB. */
  metadata?: Json | undefined;
  /** Labels to filter by. At most 64. */
  labels?: Readonly<Record<string, string>> | undefined;
  /** First values of the session's state by key, at most 1,000: anything that `JSON.stringify` writes. */
  state?: Readonly<Record<string, unknown>> | undefined;
}

/** Options of `create`. */
export interface CreateOptions extends SessionProperties {
  /** Returns an existing session unchanged instead of failing. */
  returnExisting?: boolean | undefined;
  /** Fails if another user of the app has a session with this id. */
  uniqueInApp?: boolean | undefined;
  /** Default size of contexts in bytes; 0 is the server's. */
  contextBytes?: Int | undefined;
  /** Start of an imported conversation. Default: now. */
  createTime?: Date | undefined;
  /**
   * Origin of an imported session that is a fork: a record for `sessions({ forkedFrom })`, which the server does not look up. Its app
   * and user are those of the session, or empty. At least `session.sessionId` and `uid` are required. Default: none.
   */
  parent?: MessageInitShape<typeof SessionParentSchema> | undefined;
}

/** Options of `move`. */
export interface MoveOptions {
  /**
   * Id of the call, which the session remembers; a repeated call with the same id changes nothing and returns the session, with
   * `replayed`. Default: a new one, so that the client's own retries are safe.
   */
  operationId?: string | undefined;
}

/** Options of `fork`. The expiry is not that of the session. */
export interface ForkOptions extends ExpiryOptions {
  /** The last thing that the fork has. Default: all of the present. */
  at?: Point | undefined;
  /** Metadata, as of `create`. Default: that of the session. */
  metadata?: Json | undefined;
  /** Labels in addition to those of the session, whose values they replace. At most 64. */
  labels?: Readonly<Record<string, string>> | undefined;
  /** False copies no labels of the session. Default: true. */
  inheritLabels?: boolean | undefined;
  /** Default size of contexts in bytes; 0 is the server's. Default: that of the session. */
  contextBytes?: Int | undefined;
  /**
   * Id of the call, which the session remembers; a repeated call with the same id returns the fork of the first one, with
   * `replayed`. Default: a new one, so that the client's own retries are safe.
   */
  operationId?: string | undefined;
}

/** Changes of `update`. What is left out stays. */
export interface SessionChanges extends ExpiryOptions {
  /** New metadata, which replaces the old; "" removes it. */
  metadata?: Json | undefined;
  /** Merge patch of the metadata (RFC 7396): its members replace those of the metadata, null removes one. */
  metadataPatch?: Json | undefined;
  /** New labels, which replace all of the old ones. */
  labels?: Readonly<Record<string, string>> | undefined;
  /** Labels to add or replace; the others stay. */
  setLabels?: Readonly<Record<string, string>> | undefined;
  /** Keys of labels to remove, before `setLabels`. */
  removeLabels?: readonly string[] | undefined;
  /** New default size of contexts in bytes. */
  contextBytes?: Int | undefined;
  /** `etag` of the session that was read; VERSION_MISMATCH if another update came between. */
  etag?: string | undefined;
  /**
   * Id of the update. The server remembers it; a repeated update with the same id and content changes nothing and returns the
   * session as it is now, also if its etag changed since. Default: none; every call updates.
   */
  operationId?: string | undefined;
}

/** Which users to list. */
export interface UsersQuery extends Pick<Scope, "app" | "anyApp">, PageOptions {}

/** Which sessions to list. */
export interface SessionsQuery extends Scope, PageOptions {
  /** Order: "created_last_first", the default, "created_first", "updated_last_first" or "updated_first". */
  orderBy?: OrderName | undefined;
  /** Time that the last update must be later than. */
  updatedAfter?: Date | undefined;
  /** Time that the last update must be earlier than. */
  updatedBefore?: Date | undefined;
  /** Beginning of the session id. */
  sessionIdPrefix?: string | undefined;
  /** Number of sessions to skip, at most 10,000. */
  offset?: number | undefined;
  /** Returns `totalSize` in the page, counted up to 10,001. */
  withTotal?: boolean | undefined;
  /** Returns `newestEvents` in the page, in the order of the sessions. */
  withNewestEvent?: boolean | undefined;
  /**
   * Returns `states` in the page, the sessions' own, in the order of the sessions: each whole, or with `more` and no values if it
   * does not fit. Together they have at most a quarter of the server's longest response.
   */
  withState?: boolean | undefined;
  /** Id of a session, also of a deleted one: only its forks are returned. */
  forkedFrom?: string | undefined;
  /** Labels that the sessions must all have. */
  labels?: Readonly<Record<string, string>> | undefined;
}

/** Options of an erasure. */
export interface ErasureOptions {
  /** Id of the request: a repetition continues after a failure, and returns the same receipt for 30 days. */
  requestId?: string | undefined;
  /** Called with the receipt so far, after each call. */
  progress?: ((receipt: ErasureReceipt) => void) | undefined;
}

const service = (caller: Caller) => caller.raw(SessionService);
const metadataOf = (metadata: Json | undefined) => (metadata === undefined ? undefined : jsonText(metadata));

/** Returns the fields of CreateIfMissing, and of CreateSession with them. */
export function propertiesOf({ metadata, labels, state, ...expiry }: SessionProperties) {
  return { expiry: expiryOf(expiry), metadataJson: metadataOf(metadata), labels: { ...labels }, state: jsonTexts(state) };
}

export function createSession(caller: Caller, session: SessionRef, given: CreateOptions, call?: CallOptions): Promise<CreateSessionResponse> {
  const { returnExisting, uniqueInApp, contextBytes = 0, createTime, parent } = given;
  const request = { ...propertiesOf(given), returnExisting, uniqueInApp, parent, contextBytes: BigInt(contextBytes) };
  return service(caller).createSession({ session, ...request, createTime: createTime && timestampFromDate(createTime) }, call);
}

export function moveSession(
  caller: Caller,
  session: SessionRef,
  newUserId: string,
  { operationId }: MoveOptions,
  call?: CallOptions,
): Promise<MoveSessionResponse> {
  return service(caller).moveSession({ session, newUserId, operationId: operationId || newEventId() }, call);
}

export function forkSession(
  caller: Caller,
  session: SessionRef,
  newSessionId: string,
  { at, metadata, labels, inheritLabels = true, contextBytes, operationId, ...expiry }: ForkOptions,
  call?: CallOptions,
): Promise<ForkSessionResponse> {
  const named = { session, newSessionId, point: pointOf(at), operationId: operationId || newEventId() };
  const copied = { metadataJson: metadataOf(metadata), labels: { ...labels }, withoutParentLabels: !inheritLabels };
  const size = contextBytes === undefined ? undefined : BigInt(contextBytes);
  return service(caller).forkSession({ ...named, ...copied, expiry: expiryOf(expiry), contextBytes: size }, call);
}

export async function getSession(caller: Caller, session: SessionRef, call?: CallOptions): Promise<Session> {
  return (await service(caller).getSession({ session }, call)).session!;
}

export async function updateSession(caller: Caller, session: SessionRef, given: SessionChanges, call?: CallOptions): Promise<Session> {
  const { metadata, metadataPatch, labels, setLabels, removeLabels = [], contextBytes, etag, operationId } = given;
  const expiry = expiryOf(given);
  const named = { expiry, metadata_json: metadata, labels, context_bytes: contextBytes };
  const paths = Object.entries(named).flatMap(([path, value]) => (value === undefined ? [] : [path]));
  const request = {
    ...(paths.length > 0 && { updateMask: { paths } }),
    ...{ session, expiry, metadataJson: metadataOf(metadata), labels: { ...labels }, contextBytes: BigInt(contextBytes ?? 0) },
    ...{ metadataPatchJson: metadataOf(metadataPatch), setLabels: { ...setLabels }, removeLabels: [...removeLabels], etag, operationId },
  };
  return (await service(caller).updateSession(request, call)).session!;
}

export function listSessions(caller: Caller, query: SessionsQuery, call?: CallOptions): Promise<ListSessionsResponse> {
  const { labels, orderBy, updatedAfter, updatedBefore, ...rest } = query;
  const { sessionIdPrefix, offset, withTotal, withNewestEvent, withState, forkedFrom, pageSize, pageToken } = rest;
  const request = {
    ...narrowed(caller, query),
    ...{ labels: { ...labels }, sessionIdPrefix, offset, withTotal, withNewestEvent, withState, forkedFrom, pageSize, pageToken },
    orderBy: orderOf(orderBy),
    updatedAfter: updatedAfter && timestampFromDate(updatedAfter),
    updatedBefore: updatedBefore && timestampFromDate(updatedBefore),
  };
  return service(caller).listSessions(request, call);
}

export function listUsers(caller: Caller, query: UsersQuery, call?: CallOptions): Promise<ListUsersResponse> {
  const { app } = narrowed(caller, query);
  return service(caller).listUsers({ app, pageSize: query.pageSize, pageToken: query.pageToken }, call);
}

export function deleteExpired(caller: Caller, given: Scope & { before?: Date | undefined }, call?: CallOptions): Promise<DeleteExpiredSessionsResponse> {
  const before = given.before && timestampFromDate(given.before);
  return service(caller).deleteExpiredSessions({ ...narrowed(caller, given), before }, call);
}

/** Repeats an erasure until nothing is left. Returns the receipt of the last call. */
export async function erased(
  erase: () => Promise<{ receipt?: ErasureReceipt | undefined; more: boolean }>,
  progress: ErasureOptions["progress"],
): Promise<ErasureReceipt> {
  for (;;) {
    const { receipt, more } = await erase();
    progress?.(receipt!);
    if (!more) return receipt!;
  }
}
