// One search in each mode, and where each event ranks in the others.

import { useQuery } from "@connectrpc/connect-query";
import { SearchMode, SearchService, type SearchHit, type SearchEventsResponse } from "@threadkeep/client/v1";

export const MODES = { literal: SearchMode.SUBSTRING, ranked: SearchMode.RANKED, semantic: SearchMode.SEMANTIC, hybrid: SearchMode.HYBRID } as const;
export type ModeName = keyof typeof MODES;
export const MODE_NAMES = Object.keys(MODES) as ModeName[];

/** What is searched, as the address has it. */
export interface Query {
  q?: string;
  app?: string;
  user?: string;
  id?: string;
  show?: string;
}

/** Hits of a column. */
const SHOWN = 20;

function scopeOf({ app, user = "", id = "" }: Query) {
  if (id) return { case: "session", value: { app: app ?? "", userId: user, sessionId: id } } as const;
  if (user || app === undefined) return { case: "user", value: { userId: user, ...(app === undefined ? {} : { app }) } } as const;
  return { case: "app", value: { app } } as const;
}

export interface Column {
  data: SearchEventsResponse | undefined;
  error: Error | null;
  isFetching: boolean;
  refetch: () => unknown;
}

function useMode(name: ModeName, query: Query, isOn: boolean): Column {
  const request = {
    ...{ scope: scopeOf(query), query: query.q?.trim() ?? "", mode: MODES[name], pageSize: SHOWN, neighbors: 1 },
  };
  return useQuery(SearchService.method.searchEvents, request, { enabled: isOn, placeholderData: (before) => before, retry: false });
}

/** Returns the columns by mode. All modes are requested, also those that are not shown: their places are part of every hit. */
export function useHits(query: Query, isOn: boolean): Record<ModeName, Column> {
  return {
    literal: useMode("literal", query, isOn),
    ranked: useMode("ranked", query, isOn),
    semantic: useMode("semantic", query, isOn),
    hybrid: useMode("hybrid", query, isOn),
  };
}

export const keyOf = ({ session, event }: SearchHit) => `${session?.app}\n${session?.userId}\n${session?.sessionId}\n${event?.seq}`;

export type Places = ReadonlyMap<string, ReadonlyMap<ModeName, number>>;

/** Returns the place of each event in each mode, from 1. */
export function placesOf(columns: Record<ModeName, Column>): Places {
  const places = new Map<string, Map<ModeName, number>>();
  for (const name of MODE_NAMES) {
    columns[name].data?.hits.forEach((hit, at) => {
      const key = keyOf(hit);
      if (!places.has(key)) places.set(key, new Map());
      places.get(key)!.set(name, at + 1);
    });
  }
  return places;
}
