// The sessions that match the filters, page by page, with live changes merged in.

import { useInfiniteQuery, useQueryClient, type InfiniteData } from "@tanstack/react-query";
import { SessionChangeKind, type Change } from "@threadkeep/client";
import { SessionOrder, SessionService, type ListSessionsResponse, type Session, type SessionEvent, type SessionRef } from "@threadkeep/client/v1";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { useCallback, useMemo, useRef } from "react";

import { useClient } from "../../api/connection";
import { useWatch } from "../../api/watching";
import { beginOf } from "../../since";

/** Filters as the address has them. */
export interface SessionFilters {
  app?: string;
  user?: string;
  prefix?: string;
  label?: string;
  since?: string;
  order?: string;
}

export interface SessionRow {
  session: Session;
  latest: SessionEvent | undefined;
}

type Pages = InfiniteData<ListSessionsResponse>;

const PAGE = 100;
/** Milliseconds. Many changes in a moment read the list once. */
const SETTLE = 400;
const ORDERS: Readonly<Record<string, SessionOrder>> = {
  active: SessionOrder.UPDATED_FIRST,
  created: SessionOrder.CREATED_LAST_FIRST,
  oldest: SessionOrder.CREATED_FIRST,
};

/** Returns the labels of "a=1, b=2". A key without a value means that the value is empty. */
function labelsOf(given: string): Record<string, string> {
  const pairs = given.split(",").map((each) => each.trim()).filter(Boolean);
  return Object.fromEntries(pairs.map((pair) => [pair.split("=", 1)[0]!, pair.slice(pair.indexOf("=") + 1)]));
}

export function requestOf({ app, user = "", prefix = "", label = "", since = "", order = "" }: SessionFilters) {
  const begin = beginOf(since);
  return {
    ...(app === undefined ? {} : { app }),
    userId: user,
    sessionIdPrefix: prefix,
    labels: labelsOf(label),
    ...(begin === undefined ? {} : { updatedAfter: timestampFromMs(begin) }),
    orderBy: ORDERS[order] ?? SessionOrder.UPDATED_LAST_FIRST,
    pageSize: PAGE,
    withNewestEvent: true,
  };
}

/** Whether the filters leave out any session. Those that the request does not have, such as an unknown time, do not. */
export function narrows(filters: SessionFilters): boolean {
  const { app, userId, sessionIdPrefix, labels, updatedAfter } = requestOf(filters);
  return app !== undefined || userId !== "" || sessionIdPrefix !== "" || Object.keys(labels).length > 0 || updatedAfter !== undefined;
}

export const keyOf = ({ app, userId, sessionId }: SessionRef) => JSON.stringify([app, userId, sessionId]);

/** Returns the pages with a changed session; undefined if the change needs a new read. */
function merged(pages: Pages, { session: ref, kind, versions, changeTime }: Change): Pages | undefined {
  if (kind.case !== "batch" || !ref || !versions) return undefined;
  const key = keyOf(ref);
  const latest = kind.value.events.at(-1);
  let isFound = false;
  const read = pages.pages.map((page) => {
    const at = page.sessions.findIndex((each) => each.ref && keyOf(each.ref) === key);
    if (at < 0) return page;
    isFound = true;
    const { lastSeq, logVersion, windowVersion, window } = versions;
    const session: Session = { ...page.sessions[at]!, lastSeq, logVersion, windowVersion };
    if (window) session.window = window;
    if (changeTime) session.updateTime = changeTime;
    const sessions = page.sessions.with(at, session);
    const newestEvents = latest ? page.newestEvents.with(at, latest) : page.newestEvents;
    return { ...page, sessions, newestEvents };
  });
  return isFound ? { ...pages, pages: read } : undefined;
}

const seconds = ({ session }: SessionRow) => Number(session.updateTime?.seconds ?? 0n) + (session.updateTime?.nanos ?? 0) / 1e9;

/** Returns the sessions of all pages, each once. By activity, a session that changed meanwhile moves to its new place. */
function rowsOf(pages: Pages | undefined, order: string): SessionRow[] {
  const rows = new Map<string, SessionRow>();
  for (const { sessions, newestEvents } of pages?.pages ?? []) {
    sessions.forEach((session, at) => {
      const latest = newestEvents[at];
      rows.set(session.uid, { session, latest: latest?.seq ? latest : undefined });
    });
  }
  const listed = [...rows.values()];
  if (order === "") listed.sort((one, other) => seconds(other) - seconds(one));
  return listed;
}

export function useSessions(filters: SessionFilters) {
  const client = useClient();
  const queries = useQueryClient();
  const scope = JSON.stringify(filters);
  const key = useMemo(() => ["sessions", scope], [scope]);
  const query = useInfiniteQuery({
    queryKey: key,
    initialPageParam: "",
    queryFn: async ({ pageParam, signal }: { pageParam: string; signal: AbortSignal }) => {
      const request = { ...requestOf(filters), pageToken: pageParam, withTotal: pageParam === "" };
      return client.raw(SessionService).listSessions(request, { signal });
    },
    getNextPageParam: ({ nextPageToken }) => nextPageToken || undefined,
    // A page token is bound to its request, which has the time of the first page: all pages are read again together.
    staleTime: Infinity,
  });

  const pending = useRef<ReturnType<typeof setTimeout>>(undefined);
  const reread = useCallback(() => {
    clearTimeout(pending.current);
    pending.current = setTimeout(() => void queries.invalidateQueries({ queryKey: key }), SETTLE);
  }, [queries, key]);
  const receive = (change: Change) => {
    const pages = queries.getQueryData<Pages>(key);
    const isDeleted = change.kind.case === "sessionChange" && change.kind.value.kind === SessionChangeKind.DELETED;
    const next = pages && merged(pages, change);
    if (next) queries.setQueryData(key, next);
    else if (change.kind.case === "batch" || change.kind.case === "sessionChange" || isDeleted) reread();
  };
  const { app, user } = filters;
  const watched = useWatch(
    `sessions ${app ?? "*"} ${user ?? "*"}`,
    (signal, resumeToken) =>
      client.watchAll(
        { from: resumeToken ? { resumeToken } : "now", ...(app === undefined ? { anyApp: true } : { app }), ...(user ? { userId: user } : { anyUser: true }), checkpoints: true },
        { signal },
      ),
    receive,
    reread,
  );
  const rows = useMemo(() => rowsOf(query.data, filters.order ?? ""), [query.data, filters.order]);
  return { ...query, rows, total: query.data?.pages[0]?.totalSize, watched };
}
