// Reads sessions from the server as ADK's.

import { createEvent, createSession, type CreateEventParams, type Event, type Session } from "@google/adk";
import { timestampMs } from "@bufbuild/protobuf/wkt";
import { Code, ThreadkeepError, type Client, type FilterOptions, type SessionEvent, type SessionRef, type StateHandle } from "@threadkeep/client";
import type { Session as StoredSession, StatePage } from "@threadkeep/client/v1";

import { itemOf, timeOf } from "../formats/adk.js";
import { callNames } from "../formats/parts.js";
import { merged } from "./state.js";

const EVENTS_AT_ONCE = 1000;

type Values = Record<string, unknown>;

/** Which events of a session are read. */
export interface Selection {
  numRecentEvents?: number | undefined;
  afterTimestamp?: number | undefined;
}

/** A session with the log version at which it was read. */
export interface Loaded {
  readonly session: Session;
  readonly logVersion: bigint;
}

/** Returns a session with the selected events, as of one moment. Fails with SESSION_NOT_FOUND. */
export async function load(client: Client, ref: SessionRef, selection: Selection = {}): Promise<Loaded> {
  const handle = client.session(ref);
  const filter = filterOf(selection);
  const pageSize = filter.exactLastN === undefined ? EVENTS_AT_ONCE : 0;
  const loaded = await handle.load({ filter, pageSize, withNewestEvent: true });
  const stored = loaded.session!;
  const state = {
    session: await valuesOf(loaded.state?.session, handle.state()),
    user: await valuesOf(loaded.state?.user, client.userState({ app: ref.app, userId: ref.userId })),
    app: loaded.state?.app === undefined ? {} : await valuesOf(loaded.state.app, client.appState(ref.app)),
  };
  const found: SessionEvent[] = [];
  for (let page = loaded.log.case === "events" ? loaded.log.value : undefined; page !== undefined; ) {
    found.push(...page.events.filter(({ seq }) => seq <= stored.lastSeq)); // Without what was appended since the first page.
    page = page.nextPageToken ? await handle.eventsPage({ filter, pageSize, pageToken: page.nextPageToken }) : undefined;
  }
  const newest = loaded.newestEvent ?? (stored.lastSeq > 0n ? (await handle.eventsPage({ order: "desc", pageSize: 1 })).events[0] : undefined);
  return { session: sessionOf(stored, newest, merged(state), eventsOf(found)), logVersion: stored.logVersion };
}

/** Returns the session. Its time is that of its newest event, or of its creation. */
export function sessionOf(stored: StoredSession, newest: SessionEvent | undefined, state: Values, events: Event[]): Session {
  const { app, userId, sessionId } = stored.ref!;
  const lastUpdateTime = newest === undefined || newest.eventId === "" ? timestampMs(stored.createTime!) : timeOf(newest);
  return createSession({ id: sessionId, appName: app, userId, state, events, lastUpdateTime });
}

/** Returns the values of a state, which is read again if it did not fit into the response. */
export async function valuesOf(page: StatePage | undefined, handle: StateHandle): Promise<Values> {
  if (page === undefined || page.more) return (await handle.get()).values as Values;
  return Object.fromEntries(Object.entries(page.values).map(([key, json]) => [key, JSON.parse(json) as unknown]));
}

/** Returns the values of an app; none for a credential that is bound to a user, which may not read them. */
export async function appValues(client: Client, app: string): Promise<Values> {
  try {
    return (await client.appState(app).get()).values as Values;
  } catch (error) {
    if (error instanceof ThreadkeepError && error.code === Code.PermissionDenied) return {};
    throw error;
  }
}

/** Returns events as ADK's: those that an ADK wrote as they were, the others as its kind of message. */
function eventsOf(stored: readonly SessionEvent[]): Event[] {
  const names = callNames(stored);
  return stored.filter(({ erased }) => !erased).map((event) => createEvent(itemOf(event, names) as CreateEventParams));
}

function filterOf({ numRecentEvents, afterTimestamp }: Selection): FilterOptions {
  return {
    view: "active",
    fromTime: afterTimestamp ? new Date(afterTimestamp) : undefined,
    exactLastN: numRecentEvents || undefined,
  };
}
