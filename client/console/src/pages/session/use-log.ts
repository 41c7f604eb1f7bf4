// The events of one session by seq. Seqs have no gaps, so page n always has the seqs from n * PAGE + 1 on: only the visible pages are
// read, wherever the reader is, and a live event has one place, so it is never shown twice.

import { useQueries, useQueryClient } from "@tanstack/react-query";
import type { Change, SessionEvent } from "@threadkeep/client";
import type { SessionRef } from "@threadkeep/client/v1";
import { useCallback, useEffect, useMemo, useRef, useState } from "react";

import { useClient } from "../../api/connection";
import { useWatch, type Watched } from "../../api/watching";
import { endingOf, type EndingKind } from "../../api/use-ending";
import { nameOf, PAGE, pageKey, pageOf, pageQuery, pagesKey, reaches, type Events } from "./log-pages";

export interface Log {
  /** Seq of the newest event. */
  lastSeq: number;
  /** Returns an event that was read. */
  at: (seq: number) => SessionEvent | undefined;
  /** Every event that was read and is still kept, by page. */
  loaded: readonly Events[];
  /** The first failure of the visible pages. */
  error: Error | null;
  watched: Watched;
  /** Set after a change that ended the session here. */
  ending: EndingKind | undefined;
  retry: () => void;
}

/** Reads the `visible` pages, and follows the session from `opened` on, its last seq when it was read. */
export function useLog(ref: SessionRef, opened: number, visible: string, onChange: (change: Change) => void): Log {
  const client = useClient();
  const queries = useQueryClient();
  const [lastSeq, setLastSeq] = useState(opened);
  const [ending, setEnding] = useState<Log["ending"]>();
  const name = nameOf(ref);
  const key = useCallback((page: number) => pageKey(ref, page), [name]);

  const pages = useMemo(() => visible.split(" ").filter(Boolean).map(Number), [visible]);

  const results = useQueries({ queries: pages.map((page) => pageQuery(client, ref, page)) });

  /** Pages that were read twice, because they were read before the newest event was known. */
  const again = useRef(new Set<number>());
  useEffect(() => {
    pages.forEach((page, at) => {
      const events = results[at]?.data;
      if (!events || reaches(events, page, opened) || again.current.has(page)) return;
      again.current.add(page);
      void queries.invalidateQueries({ queryKey: key(page) });
    });
  });

  const append = useCallback(
    (events: readonly SessionEvent[]) => {
      const byPage = Map.groupBy(events, (event) => pageOf(Number(event.seq)));
      for (const [page, added] of byPage) {
        // A page that is being read may have been answered before this append: it is read again.
        if (queries.isFetching({ queryKey: key(page) })) void queries.invalidateQueries({ queryKey: key(page) });
        queries.setQueryData<Events>(key(page), (known) => {
          if (!known && Number(added[0]!.seq) !== page * PAGE + 1) return undefined; // not the whole page: left to a read
          return new Map([...(known ?? []), ...added.map((event) => [Number(event.seq), event] as const)]);
        });
      }
      const newest = Number(events.at(-1)?.seq ?? 0n);
      setLastSeq((before) => Math.max(before, newest));
    },
    [queries, key],
  );

  const receive = (change: Change) => {
    const { kind, versions } = change;
    if (kind.case === "batch") append(kind.value.events);
    if (kind.case === "compaction" || kind.case === "removal") {
      // It changed which events are archived, anywhere in the log.
      void queries.invalidateQueries({ queryKey: pagesKey(ref) });
      if (versions) setLastSeq((before) => Math.max(before, Number(versions.lastSeq)));
    }
    if (kind.case === "sessionChange") setEnding(endingOf(change));
    onChange(change);
  };
  const start = useRef(opened);
  const watched = useWatch(
    `session ${name}`,
    (signal, resumeToken) => client.session(ref).watch({ from: resumeToken ? { resumeToken } : { afterSeq: start.current }, checkpoints: true }, { signal }),
    receive,
  );

  const loaded = useSame(results.flatMap(({ data }) => (data ? [data] : [])));
  const at = (seq: number) => results[pages.indexOf(pageOf(seq))]?.data?.get(seq);
  const failed = results.find(({ error }) => error);
  const retry = () => results.forEach((result) => result.error && void result.refetch());
  return { lastSeq, at, loaded, error: failed?.error ?? null, watched, ending, retry };
}

/** Returns the list of the last time while it has the same items, so that what depends on it is not rendered again. */
function useSame<Item>(list: Item[]): Item[] {
  const kept = useRef(list);
  if (list.length !== kept.current.length || list.some((each, at) => each !== kept.current[at])) kept.current = list;
  return kept.current;
}
