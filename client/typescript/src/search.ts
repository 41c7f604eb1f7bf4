// Searches of events.

import type { CallOptions } from "@connectrpc/connect";
import { durationFromMs, timestampFromDate } from "@bufbuild/protobuf/wkt";

import { filterOf, type FilterLike } from "./filters.js";
import { SearchService, type SearchEventsResponse } from "./gen/threadkeep/v1/search_service_pb.js";
import type { SessionRef } from "./gen/threadkeep/v1/session_pb.js";
import { fieldOf, groupingOf, modeOf, type FieldName, type GroupingName, type ModeName } from "./names.js";
import type { Caller, PageOptions } from "./requests.js";
import { searched, type Scope } from "./scope.js";

/** How newer hits are boosted. */
export interface RecencyOptions {
  /** Age in milliseconds at which the boost is half of its maximum. */
  halfLifeMs: number;
  /** Maximum boost, at age zero. Default: 1; at most 100. */
  weight?: number | undefined;
}

/** How a session is searched. Hits come best first, take as many as you need; with mode "substring" oldest first. */
export interface SessionSearchOptions extends PageOptions {
  /** How the query is interpreted. Default: "auto", the server chooses. */
  mode?: ModeName | undefined;
  /** Additional conditions. */
  filter?: FilterLike | undefined;
  /** Fields to search. Default: all; for "substring" the text only. */
  fields?: readonly FieldName[] | undefined;
  /** Number of events to return before and after each hit. At most 10. */
  neighbors?: number | undefined;
  /** One hit per turn or per session. */
  grouping?: GroupingName | undefined;
  /** Boost for newer events. Default: age has no effect. */
  recency?: RecencyOptions | undefined;
  /** Minimum score of a hit. */
  minScore?: number | undefined;
  /** Time to which "yesterday" in the query refers, and from which recency is measured. Default: now. */
  referenceTime?: Date | undefined;
  /** Also searches synthetic events, such as summaries, in the modes that leave them out. */
  includeSynthetic?: boolean | undefined;
  /** A page has each event once: a neighbor of a better hit is no hit as well. */
  distinct?: boolean | undefined;
}

/** How and where to search: by default in all sessions of the client's user and app. */
export interface SearchOptions extends SessionSearchOptions, Scope {}

/** Returns one page of hits in a session or in a scope. */
export function searchEvents(
  caller: Caller,
  session: SessionRef | undefined,
  query: string,
  options: SearchOptions,
  call?: CallOptions,
): Promise<SearchEventsResponse> {
  const { mode, filter, fields = [], grouping, recency, referenceTime, neighbors, minScore, includeSynthetic, distinct, pageSize, pageToken } = options;
  const scope = session === undefined ? searched(caller, options) : ({ case: "session", value: session } as const);
  const request = {
    ...{ scope, query, neighbors, minScore, includeSynthetic, distinct, pageSize, pageToken },
    mode: modeOf(mode),
    filter: filterOf(filter),
    fields: fields.map(fieldOf),
    grouping: groupingOf(grouping),
    recency: recency && { halfLife: durationFromMs(recency.halfLifeMs), weight: recency.weight },
    referenceTime: referenceTime && timestampFromDate(referenceTime),
  };
  return caller.raw(SearchService).searchEvents(request, call);
}
