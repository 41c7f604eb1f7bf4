import {
  BaseSessionService, type AppendEventRequest, type CreateSessionRequest, type DeleteSessionRequest, type Event, type GetSessionRequest,
  type ListSessionsRequest, type ListSessionsResponse, type Session,
} from "@google/adk";
import { create } from "@bufbuild/protobuf";
import { isReason, type AppendOptions, type Client, type ExpiryOptions, type SessionEvent, type SessionRef } from "@threadkeep/client";
import { SessionRefSchema, type Session as StoredSession, type StatePage } from "@threadkeep/client/v1";

import { eventOf, type Item } from "../formats/adk.js";
import { appValues, load, sessionOf, valuesOf } from "./reading.js";
import { changes, merged, scoped, type Scoped } from "./state.js";

/** Options of a ThreadkeepSessionService: how long a session is kept. Default: as the server says, 60 days after its last change. */
export type ThreadkeepSessionServiceOptions = ExpiryOptions;

const SESSIONS_AT_ONCE = 200;

/**
 * Keeps ADK's sessions in Threadkeep: `new Runner({ appName, agent, sessionService: new ThreadkeepSessionService(client) })`.
 *
 * The client's address and token are used; the app and the user are those of ADK's calls. Appends of several writers are serialized
 * and all succeed: a session object that does not have the events of others is read again, as ADK's own database service does. An event
 * with the id of a stored one replaces it in its place. To append the same event again stores nothing twice. Methods throw
 * ThreadkeepError if a call fails.
 */
export class ThreadkeepSessionService extends BaseSessionService {
  readonly #client: Client;
  readonly #expiry: ThreadkeepSessionServiceOptions;
  /** The log versions at which session objects were read or written. */
  readonly #versions = new WeakMap<Session, bigint>();

  constructor(client: Client, options: ThreadkeepSessionServiceOptions = {}) {
    super();
    this.#client = client;
    this.#expiry = options;
  }

  /**
   * Creates a session; without an id the server generates it. Throws an Error if there is one with this id. Values of the app and of
   * the user are set after it is created; if that fails, it is deleted again.
   */
  async createSession({ appName, userId, state, sessionId }: CreateSessionRequest): Promise<Session> {
    const first = scoped(state);
    const handle = this.#client.session(refOf(appName, userId, sessionId ?? ""));
    let ref: SessionRef;
    try {
      ref = (await handle.create({ ...this.#expiry, state: { ...first.session } })).session!.ref!;
    } catch (error) {
      throw isReason(error, "SESSION_ALREADY_EXISTS") ? new Error(`Session with id ${sessionId} already exists.`, { cause: error }) : error;
    }
    try {
      await this.#share(ref, first);
    } catch (error) {
      await this.#client.session(ref).delete();
      throw error;
    }
    return this.#load(ref);
  }

  /**
   * Returns a session as of one moment; undefined if there is none. Its events are those of the active window: of those at or after
   * `afterTimestamp`, the newest `numRecentEvents`; zero is all.
   */
  async getSession({ appName, userId, sessionId, config }: GetSessionRequest): Promise<Session | undefined> {
    try {
      return await this.#load(refOf(appName, userId, sessionId), config);
    } catch (error) {
      if (isReason(error, "SESSION_NOT_FOUND")) return undefined;
      throw error;
    }
  }

  /** Returns the session with this id, or creates it. Of concurrent calls one creates it, and all return it. */
  override async getOrCreateSession(request: CreateSessionRequest): Promise<Session> {
    const { appName, userId, sessionId } = request;
    for (;;) {
      const found = sessionId ? await this.getSession({ appName, userId, sessionId }) : undefined;
      if (found !== undefined) return found;
      try {
        return await this.createSession(request);
      } catch (error) {
        if (!(error instanceof Error) || !isReason(error.cause, "SESSION_ALREADY_EXISTS")) throw error;
      }
    }
  }

  /**
   * Returns sessions with their state and without events. Without a limit they are all read, and ordered by update time, then by id. With
   * one, the server orders them by its own time of their last change, and counts up to 10,001; `offset` is at most 10,000.
   */
  async listSessions({ appName, userId, limit, offset = 0, page, order }: ListSessionsRequest): Promise<ListSessionsResponse> {
    if (limit === undefined) {
      const all = await this.#listed({ appName, userId }, "created_first", 0, Infinity);
      if (order !== undefined) all.sentSessions.sort(byUpdate(order));
      const totalItems = all.sentSessions.length;
      return { sessions: all.sentSessions.slice(offset), page: 1, limit: totalItems, totalItems, totalPages: totalItems === 0 ? 0 : 1 };
    }
    const start = page === undefined ? offset : (page - 1) * limit;
    const current = page ?? (limit === 0 ? 1 : Math.floor(start / limit) + 1);
    const serverOrder = order === "asc" ? "updated_first" : order === "desc" ? "updated_last_first" : "created_first";
    const { sentSessions, totalItems } = await this.#listed({ appName, userId }, serverOrder, start, limit);
    return { sessions: sentSessions, page: current, limit, totalItems, totalPages: limit === 0 ? 0 : Math.ceil(totalItems / limit) };
  }

  /** Deletes a session and its events. Does nothing if there is none. */
  async deleteSession({ appName, userId, sessionId }: DeleteSessionRequest): Promise<void> {
    await this.#client.session(refOf(appName, userId, sessionId)).delete();
  }

  /**
   * Appends an event, with its changes of state in all scopes; it is on durable storage when this resolves. A partial event is not stored,
   * and `temp:` keys are dropped. An event whose id is stored, with other content, replaces the stored one, and then its changes of state
   * are made. Throws an Error if there is no such session.
   */
  override async appendEvent({ session, event }: AppendEventRequest): Promise<Event> {
    if (event.partial) return event;
    const ref = refOf(session.appName, session.userId, session.id);
    const known = this.#versions.get(session);
    let logVersion: bigint;
    try {
      logVersion = await this.#store(ref, event);
    } catch (error) {
      throw isReason(error, "SESSION_NOT_FOUND") ? new Error(`Session ${session.id} not found for appendEvent`, { cause: error }) : error;
    }
    const appended = await super.appendEvent({ session, event });
    session.lastUpdateTime = event.timestamp;
    if (known !== undefined && logVersion <= known + 1n) this.#versions.set(session, logVersion);
    else await this.#refresh(session, ref);
    return appended;
  }

  /** Stores an event and its changes of state; returns the log version of the session afterwards. */
  async #store(ref: SessionRef, event: Event): Promise<bigint> {
    const delta = scoped(event.actions?.stateDelta);
    const item = { ...event, actions: { ...event.actions, stateDelta: Object.fromEntries(kept(event)) } };
    const stored = eventOf(item as unknown as Item);
    const handle = this.#client.session(ref);
    const state: AppendOptions = { state: changes(delta.session), userState: changes(delta.user), appState: changes(delta.app) };
    try {
      return (await handle.append(stored, state)).logVersion;
    } catch (error) {
      if (!isReason(error, "EVENT_ID_CONFLICT")) throw error;
    }
    const { logVersion } = await handle.append(stored, { ifExists: "replace" });
    if (Object.keys(delta.session).length > 0) await handle.state().patch(delta.session);
    await this.#share(ref, delta);
    return logVersion;
  }

  /** Reads a session again into the same object. */
  async #refresh(session: Session, ref: SessionRef): Promise<void> {
    const { session: now, logVersion } = await load(this.#client, ref);
    Object.assign(session, { state: now.state, events: now.events });
    this.#versions.set(session, logVersion);
  }

  async #load(ref: SessionRef, config: GetSessionRequest["config"] = {}): Promise<Session> {
    const { session, logVersion } = await load(this.#client, ref, config);
    this.#versions.set(session, logVersion);
    return session;
  }

  /** Sets values of the user and of the app. */
  async #share({ app, userId }: SessionRef, { user, app: ofApp }: Scoped): Promise<void> {
    if (Object.keys(user).length > 0) await this.#client.userState({ app, userId }).patch(user);
    if (Object.keys(ofApp).length > 0) await this.#client.appState(app).patch(ofApp);
  }

  async #listed(
    { appName, userId }: { appName: string; userId: string | undefined },
    orderBy: "created_first" | "updated_first" | "updated_last_first",
    offset: number,
    limit: number,
  ): Promise<{ sentSessions: Session[]; totalItems: number }> {
    if (userId === "") return { sentSessions: [], totalItems: 0 };
    const whose = userId === undefined ? { anyUser: true } : { userId };
    const query = { app: appName, ...whose, orderBy, offset, withTotal: true, withNewestEvent: true, withState: true };
    const found: Entry[] = [];
    let [pageToken, totalItems] = ["", 0];
    do {
      const pageSize = Math.min(Math.max(limit - found.length, 1), SESSIONS_AT_ONCE);
      const page = await this.#client.sessionsPage({ ...query, pageSize, pageToken });
      found.push(...page.sessions.map((stored, place): Entry => ({ stored, newest: page.newestEvents[place], state: page.states[place] })));
      [pageToken, totalItems] = [page.nextPageToken, page.totalSize];
    } while (pageToken !== "" && found.length < limit);
    return { sentSessions: await this.#sessionsOf(appName, found.slice(0, limit)), totalItems };
  }

  async #sessionsOf(app: string, found: readonly Entry[]): Promise<Session[]> {
    if (found.length === 0) return [];
    const ofApp = await appValues(this.#client, app);
    const users = [...new Set(found.map(({ stored }) => stored.ref!.userId))];
    const ofUsers = new Map<string, Record<string, unknown>>();
    for (const userId of users) ofUsers.set(userId, (await this.#client.userState({ app, userId }).get()).values);
    const sessions: Session[] = [];
    for (const { stored, newest, state } of found) {
      const handle = this.#client.session(stored.ref!);
      const last = newest?.eventId || stored.lastSeq === 0n ? newest : (await handle.eventsPage({ order: "desc", pageSize: 1 })).events[0];
      const own = await valuesOf(state, handle.state());
      sessions.push(sessionOf(stored, last, merged({ session: own, user: ofUsers.get(stored.ref!.userId)!, app: ofApp }), []));
    }
    return sessions;
  }
}

interface Entry {
  readonly stored: StoredSession;
  readonly newest: SessionEvent | undefined;
  readonly state: StatePage | undefined;
}

const refOf = (app: string, userId: string, sessionId: string): SessionRef => create(SessionRefSchema, { app, userId, sessionId });

const kept = (event: Event) => Object.entries(event.actions?.stateDelta ?? {}).filter(([key]) => !key.startsWith("temp:"));

const byUpdate = (order: "asc" | "desc") => (left: Session, right: Session) =>
  (order === "asc" ? 1 : -1) * (left.lastUpdateTime - right.lastUpdateTime) || (left.id < right.id ? -1 : 1);
