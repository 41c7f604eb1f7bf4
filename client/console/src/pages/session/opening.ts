// What is read to open a session. It begins with the address, while the scripts of the page still load, and all at once: the events
// do not wait for the session, which names its newest.

import { createQueryOptions } from "@connectrpc/connect-query";
import type { QueryClient } from "@tanstack/react-query";
import type { Client, SessionEvent } from "@threadkeep/client";
import { CompactionService, EventService, SessionService, SortOrder } from "@threadkeep/client/v1";

import { PAGE, pageKey, pageOf, pageQuery, pagesFrom, pagesKey, type Events, type Ref } from "./log-pages";

/** Events that are read without knowing how many there are: those of the newest page, and of the one before if that is shown too. */
const NEWEST = PAGE + 46;
/** Events around the seq of an address. */
const AROUND = 10;
/** Milliseconds for which the page does not repeat what its address began. */
const FRESH = 2_000;

/** Who reads: see Opened. */
export interface Reader {
  client: Client;
  queries: QueryClient;
}

/** What the address of a session's page names. */
export interface SessionSearch {
  app?: string;
  user?: string;
  id?: string;
  seq?: string;
}

export const refOf = ({ app = "", user = "", id = "" }: SessionSearch): Ref => ({ app, userId: user, sessionId: id });

export const sessionQuery = ({ client: { transport } }: Reader, session: Ref) => ({
  ...createQueryOptions(SessionService.method.getSession, { session }, { transport }),
  staleTime: FRESH,
});

export const compactionsQuery = ({ client: { transport } }: Reader, session: Ref) => ({
  ...createQueryOptions(CompactionService.method.listCompactions, { session, pageSize: 1000 }, { transport }),
  staleTime: Infinity, // changes arrive by the watch
});

/** Returns the query of the newest events, which become pages. It returns their number. */
export const newestQuery = ({ client, queries }: Reader, session: Ref) => ({
  queryKey: ["newest", session.app, session.userId, session.sessionId],
  queryFn: async ({ signal }: { signal: AbortSignal }) => {
    const { events } = await client.raw(EventService).listEvents({ session, order: SortOrder.DESCENDING, pageSize: NEWEST }, { signal });
    for (const [page, found] of wholePages(events)) {
      queries.setQueryData<Events>(pageKey(session, page), (known) => new Map([...(known ?? []), ...found]));
    }
    return events.length;
  },
  staleTime: FRESH,
  gcTime: FRESH,
});

/** Returns the pages of which every event is among these, the newest first. */
function wholePages(events: readonly SessionEvent[]): Map<number, Map<number, SessionEvent>> {
  const pages = new Map<number, Map<number, SessionEvent>>();
  for (const event of events.toReversed()) {
    const seq = Number(event.seq);
    const page = pageOf(seq);
    if (seq === page * PAGE + 1) pages.set(page, new Map());
    pages.get(page)?.set(seq, event);
  }
  return pages;
}

export const isSeq = (given: string | undefined): given is string => Number(given) > 0 && Number.isSafeInteger(Number(given));

/** Returns the pages to read first: around the seq of the address, else the newest. */
export function firstPages(last: number, seq: string | undefined): number[] {
  const at = Math.min(last, isSeq(seq) ? Number(seq) : last);
  return pagesFrom(Math.max(1, at - AROUND), Math.min(last, at + AROUND));
}

/** Begins to read what the page of this address shows. Failures are those of the page, which reads the same. */
export function beginReading(reader: Reader, search: SessionSearch): void {
  const { client, queries } = reader;
  const ref = refOf(search);
  if (ref.sessionId === "") return;
  queries.removeQueries({ queryKey: pagesKey(ref), type: "inactive" }); // nobody followed the session since
  void queries.prefetchQuery(sessionQuery(reader, ref));
  void queries.prefetchQuery(compactionsQuery(reader, ref));
  if (!isSeq(search.seq)) void queries.prefetchQuery(newestQuery(reader, ref));
  else for (const page of firstPages(Infinity, search.seq)) void queries.prefetchQuery(pageQuery(client, ref, page));
}
