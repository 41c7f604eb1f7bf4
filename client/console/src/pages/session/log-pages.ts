// The pages of a session's log: page n has the seqs from n * PAGE + 1 on. Seqs have no gaps.

import type { Client, SessionEvent } from "@threadkeep/client";
import { EventService } from "@threadkeep/client/v1";

export const PAGE = 100;

export type Events = ReadonlyMap<number, SessionEvent>;

/** A session by its names, as requests take it. */
export interface Ref {
  app: string;
  userId: string;
  sessionId: string;
}

export const pageOf = (seq: number) => Math.floor((seq - 1) / PAGE);

/** Returns the numbers of the pages that have these seqs. */
export function pagesFrom(first: number, last: number): number[] {
  const from = pageOf(first);
  return Array.from({ length: pageOf(last) - from + 1 }, (_, step) => from + step);
}

/** Returns these numbers as a text that is equal while they are. */
export const pagesOf = (first: number, last: number): string => (first < 1 ? "" : pagesFrom(first, last).join(" "));

/** The session as a key. */
export const nameOf = ({ app, userId, sessionId }: Ref) => JSON.stringify([app, userId, sessionId]);

/** The key of all pages of a session. */
export const pagesKey = (ref: Ref) => ["events", nameOf(ref)];
export const pageKey = (ref: Ref, page: number) => [...pagesKey(ref), page];

/** Returns the query of a page. */
export function pageQuery(client: Client, { app, userId, sessionId }: Ref, page: number) {
  const ref = { app, userId, sessionId };
  return {
    queryKey: pageKey(ref, page),
    queryFn: ({ signal }: { signal: AbortSignal }) => readPage(client, ref, page, signal),
    staleTime: Infinity, // changes arrive by the watch
    gcTime: 60_000,
  };
}

async function readPage(client: Client, session: Ref, page: number, signal: AbortSignal): Promise<Events> {
  const found = new Map<number, SessionEvent>();
  const filter = { afterSeq: BigInt(page * PAGE), beforeSeq: BigInt((page + 1) * PAGE + 1) };
  let pageToken = "";
  do { // a page of the server also ends at its limit of bytes
    const answer = await client.raw(EventService).listEvents({ session, filter, pageSize: PAGE, pageToken }, { signal });
    for (const event of answer.events) found.set(Number(event.seq), event);
    pageToken = answer.nextPageToken;
  } while (pageToken);
  return found;
}

/** Whether a page was read when the log had this seq, or later. */
export const reaches = (events: Events, page: number, lastSeq: number) => events.has(Math.min(lastSeq, (page + 1) * PAGE));
