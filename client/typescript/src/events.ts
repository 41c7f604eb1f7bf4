// Appends and reads of a session's log.

import type { MessageInitShape } from "@bufbuild/protobuf";
import type { CallOptions } from "@connectrpc/connect";

import { filterOf, type FilterLike } from "./filters.js";
import * as pb from "./gen/threadkeep/v1/event_service_pb.js";
import type { SessionRef } from "./gen/threadkeep/v1/session_pb.js";
import { newEventId, type EventInit } from "./messages.js";
import type { Caller, Int, PageOptions } from "./requests.js";
import { propertiesOf, type SessionProperties } from "./sessions.js";

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
   * EVENT_ID_CONFLICT. "ignore": the stored event stays, regardless of the content.
   */
  ifExists?: "replay" | "ignore" | undefined;
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

/** Returns the events with ids, in copies of those without one: an append of the result can be repeated. */
export function withIds(events: EventInit | readonly EventInit[]): EventInit[] {
  return [events].flat().map((event: EventInit) => ({ ...event, eventId: event.eventId || newEventId() }));
}

/** Returns the request of an append. */
export function appendRequest(
  session: SessionRef | undefined,
  events: EventInit | readonly EventInit[],
  { createIfMissing, expect, ifExists }: AppendOptions,
): MessageInitShape<typeof pb.AppendEventsRequestSchema> {
  return {
    session,
    events: withIds(events),
    createIfMissing: createIfMissing ? propertiesOf(createIfMissing === true ? {} : createIfMissing) : undefined,
    ifExists: ifExists === "ignore" ? pb.IfExists.IGNORE : pb.IfExists.UNSPECIFIED,
    precondition: preconditionOf(expect),
  };
}

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
