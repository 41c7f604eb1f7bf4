// Appends to a session's log, reads of it, and removals from it.

import type { MessageInitShape } from "@bufbuild/protobuf";
import type { CallOptions } from "@connectrpc/connect";

import { filterOf, type FilterLike } from "./filters.js";
import { RemovalMode } from "./gen/threadkeep/v1/event_removal_pb.js";
import * as pb from "./gen/threadkeep/v1/event_service_pb.js";
import type { SessionRef } from "./gen/threadkeep/v1/session_pb.js";
import { newEventId, type EventInit } from "./messages.js";
import type { Caller, Int, PageOptions } from "./requests.js";
import { StateScope } from "./gen/threadkeep/v1/state_pb.js";
import { specOf, type SpecLike } from "./provider.js";
import { narrowed, type Scope } from "./scope.js";
import { propertiesOf, type SessionProperties } from "./sessions.js";
import { deltaOf, type StateChanges } from "./state.js";

/** What an append requires of the log, else VERSION_MISMATCH: the version that was read, or the last event. */
export type Expect = LogVersion | LastEvent;
/** Requires the log to be at this version. */
export type LogVersion = { logVersion: Int; lastEventId?: never };
/** Requires the last event to have this id; "" for an empty log. */
export type LastEvent = { lastEventId: string; logVersion?: never };

/** Options of `append`. */
export interface AppendOptions {
  /** Creates a missing session in the same commit, with these properties if there are any. */
  createIfMissing?: boolean | SessionProperties | undefined;
  /** Precondition. Without one, concurrent appends are serialized and always succeed. */
  expect?: Expect | undefined;
  /**
   * How an event id is handled that is already stored. "replay", the default: the same content is a replay, other content
   * EVENT_ID_CONFLICT. "ignore": the stored event stays, regardless of the content. "replace": an event with other content takes
   * the place of the stored one, which is archived.
   */
  ifExists?: "replay" | "ignore" | "replace" | undefined;
  /** With "replace": erases the content of replaced events instead of archiving them. Requires the role admin. */
  eraseReplaced?: boolean | undefined;
  /**
   * Id of the append. The server remembers it with the outcome; a repeated append with the same id and content returns that,
   * also after a crash of the caller, and stores nothing. Default: none; events are recognized by their ids.
   */
  operationId?: string | undefined;
  /** Changes of the session's state that are committed with the events: `{ set: { cart: 3 }, remove: ["draft"] }`. */
  state?: StateChanges | undefined;
  /** Changes of the state of the session's user in its app. */
  userState?: StateChanges | undefined;
  /** Changes of the state of the session's app. */
  appState?: StateChanges | undefined;
}

/** Options of a removal. What leaves the window is archived: it stays in the history and is found by searches. */
export interface RemovalOptions {
  /** Erases the content of the removed events instead of archiving them; the response has a `receipt`. Requires the role admin. */
  erase?: boolean | undefined;
  /** Log version that was read; VERSION_MISMATCH if it is stale. */
  expect?: LogVersion | undefined;
  /**
   * Id of the call. The server remembers it with the outcome; a repeated call with the same id and content returns that and
   * changes nothing. Default: a new one, so that the client's own retries are safe; to retry after a crash, give your own.
   */
  operationId?: string | undefined;
}

/** Options of `pop`. */
export interface PopOptions extends RemovalOptions {
  /** Pops events of exactly this branch; "" is the root. Default: of all branches. */
  branch?: string | undefined;
}

/** Options of `rewind`. */
export interface RewindOptions extends RemovalOptions {
  /** The versions of the session grow also if it is at the point already. Default: false. */
  always?: boolean | undefined;
}

/** Which events to erase: their ids, or all of some invocations, at most 64, or of exactly one branch, which is not the root. */
export type ErasedEvents =
  | readonly string[]
  | { invocationIds: readonly string[]; branch?: never }
  | { branch: string; invocationIds?: never };

/** Options of `replaceSuffix`. */
export interface SuffixOptions extends Omit<RemovalOptions, "expect"> {
  /** Compares and replaces events of exactly this branch; "" is the root. Default: of all branches. */
  branch?: string | undefined;
}

/** The response of `append`. */
export type Appended = pb.AppendEventsResponse & {
  /** True if nothing was sent, because the handle's memory provider does not write; everything else is then empty. */
  readonly dropped: boolean;
};

/** A moment of a session: directly after the event with this seq was stored, or after the change to this log version. */
export type Moment = { seq: Int; logVersion?: never } | { logVersion: Int; seq?: never };

/** Returns the moment as it is sent. */
export function asOfOf(moment: Moment | undefined) {
  if (moment === undefined) return undefined;
  if (moment.seq !== undefined) return { case: "asOfSeq", value: BigInt(moment.seq) } as const;
  return { case: "asOfLogVersion", value: BigInt(moment.logVersion) } as const;
}

/** Which events to list. */
export interface EventsQuery extends PageOptions {
  /** Filter: a result of `eventFilter`, or its conditions. */
  filter?: FilterLike | undefined;
  /** Reads as of a moment: the answer is the one that was given then. */
  asOf?: Moment | undefined;
  /** Order: "asc", the default, is oldest first. */
  order?: "asc" | "desc" | undefined;
}

/** Which events of a user to list. */
export interface UserEventsQuery extends Omit<Scope, "anyUser">, PageOptions {
  /** Filter without a window: a result of `eventFilter`, or its conditions. */
  filter?: FilterLike | undefined;
}

/** What `load` returns in addition to the session. */
export interface LoadOptions extends Pick<EventsQuery, "filter" | "order" | "pageSize"> {
  /** In place of a page of events, the context that `getContext` returns for this spec; true is the whole window. */
  context?: SpecLike | true | undefined;
  /** Returns neither events nor a context. */
  excludeEvents?: boolean | undefined;
  /** Scopes of the state. Default: all that the token has access to. */
  stateScopes?: readonly ("session" | "user" | "app")[] | undefined;
  /** Also returns the last event of the log. */
  withNewestEvent?: boolean | undefined;
}

/** Which usage to list. */
export interface UsageQuery extends PageOptions {
  /** Events of exactly this branch; "" is the root. Default: of all branches. */
  branch?: string | undefined;
  /** Seq that events must exceed. */
  afterSeq?: Int | undefined;
  /** Seq that events must precede. */
  beforeSeq?: Int | undefined;
}

/** Returns the events with ids, in copies of those without one: an append of the result can be repeated. */
export function withIds(events: EventInit | readonly EventInit[]): EventInit[] {
  return [events].flat().map((event: EventInit) => ({ ...event, eventId: event.eventId || newEventId() }));
}

/** Returns the request of an append. */
export function appendRequest(
  session: SessionRef | undefined,
  events: EventInit | readonly EventInit[],
  { createIfMissing, expect, ifExists = "replay", eraseReplaced, operationId, state, userState, appState }: AppendOptions,
): MessageInitShape<typeof pb.AppendEventsRequestSchema> {
  return {
    session,
    events: withIds(events),
    createIfMissing: createIfMissing ? propertiesOf(createIfMissing === true ? {} : createIfMissing) : undefined,
    ifExists: IF_EXISTS[ifExists],
    replaced: modeOf(eraseReplaced),
    operationId,
    stateDelta: deltaOf(state, userState, appState),
    precondition: preconditionOf(expect),
  };
}

const IF_EXISTS = { replay: pb.IfExists.UNSPECIFIED, ignore: pb.IfExists.IGNORE, replace: pb.IfExists.REPLACE };

const modeOf = (erase: boolean | undefined) => (erase ? RemovalMode.ERASE : RemovalMode.UNSPECIFIED);

/** Returns the fields of a removal; it always has an operation id. */
export function removalOf({ erase, operationId }: Pick<RemovalOptions, "erase" | "operationId">) {
  return { mode: modeOf(erase), operationId: operationId || newEventId() };
}

/** Returns the fields that say which events are erased. Throws TypeError for a text, which is no list of ids. */
export function erasedOf(which: ErasedEvents) {
  if (typeof which === "string") throw new TypeError("the ids of events are an array, not a text");
  if ("length" in which) return { eventIds: [...which] };
  return { invocationIds: [...(which.invocationIds ?? [])], branch: which.branch };
}

/** Returns the log version that a removal expects. */
export const versionOf = (expect: LogVersion | undefined) => expect && BigInt(expect.logVersion);

function preconditionOf(expect: Expect | undefined): MessageInitShape<typeof pb.AppendEventsRequestSchema>["precondition"] {
  if (expect === undefined) return undefined;
  if (expect.lastEventId === undefined) return { case: "expectedLogVersion", value: BigInt(expect.logVersion) };
  if (expect.logVersion !== undefined) throw new TypeError("expect one of logVersion and lastEventId");
  return { case: "expectedLastEventId", value: expect.lastEventId };
}

const ORDER = { asc: pb.SortOrder.ASCENDING, desc: pb.SortOrder.DESCENDING };

/** Returns one page of events. */
export function listEvents(caller: Caller, session: SessionRef, query: EventsQuery, call?: CallOptions): Promise<pb.ListEventsResponse> {
  const { filter, order, asOf, pageSize, pageToken } = query;
  const request = { session, filter: filterOf(filter), order: order && ORDER[order], asOf: asOfOf(asOf), pageSize, pageToken };
  return caller.raw(pb.EventService).listEvents(request, call);
}

/** Returns one page of the events of a user. */
export function listUserEvents(caller: Caller, query: UserEventsQuery, call?: CallOptions): Promise<pb.ListUserEventsResponse> {
  const { filter, pageSize, pageToken } = query;
  return caller.raw(pb.EventService).listUserEvents({ ...narrowed(caller, query), filter: filterOf(filter), pageSize, pageToken }, call);
}

const SCOPES = { session: StateScope.SESSION, user: StateScope.USER, app: StateScope.APP };

/** Returns a session with its state and its log, as of one moment. */
export function loadSession(caller: Caller, session: SessionRef, options: LoadOptions, call?: CallOptions): Promise<pb.LoadSessionResponse> {
  const { filter, order, context, stateScopes = [], ...rest } = options;
  const spec = context === true ? {} : specOf(context);
  const request = { ...rest, session, filter: filterOf(filter), order: order && ORDER[order], spec, stateScopes: stateScopes.map((each) => SCOPES[each]) };
  return caller.raw(pb.EventService).loadSession(request, call);
}

/** Returns one page of token usage. */
export function listUsage(caller: Caller, session: SessionRef, query: UsageQuery, call?: CallOptions): Promise<pb.ListUsageResponse> {
  const { afterSeq, beforeSeq, ...rest } = query;
  const [after, before] = [afterSeq, beforeSeq].map((seq) => (seq === undefined ? undefined : BigInt(seq)));
  return caller.raw(pb.EventService).listUsage({ ...rest, session, afterSeq: after, beforeSeq: before }, call);
}
