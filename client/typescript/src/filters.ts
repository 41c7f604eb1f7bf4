// Builders of filters: which events a read, a search or a watch selects.

import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";

import { EventFilterSchema, type AuthorFilterSchema, type EventFilter as FilterMessage } from "./gen/threadkeep/v1/filter_pb.js";
import { branchMatchOf, matchOf, roleOf, viewOf, type BranchName, type MatchName, type RoleName, type ViewName } from "./names.js";
import type { Int } from "./requests.js";

/** Agents: by id, or by their role in the fleet; at least one. */
export interface AuthorChoice {
  /** Agent ids, compared exactly. */
  ids?: readonly string[] | undefined;
  /** Agent roles, compared exactly. */
  roles?: readonly string[] | undefined;
}

/**
 * The authors whose events are read: `Authors.include({ roles: ["planner"] }).exclude({ ids: ["critic"] })`. Steps apply in
 * order, each to the result of the one before it; steps of one kind merge at the position of the first. Immutable.
 */
export class Authors {
  private constructor(
    /** The steps as they are sent. */
    readonly steps: readonly MessageInitShape<typeof AuthorFilterSchema>[],
  ) {}

  /** Keeps only events of these agents. */
  static include(choice: AuthorChoice): Authors {
    return new Authors([]).include(choice);
  }

  /** Drops events of these agents. */
  static exclude(choice: AuthorChoice): Authors {
    return new Authors([]).exclude(choice);
  }

  /** Then keeps only events of these agents. */
  include(choice: AuthorChoice): Authors {
    return new Authors([...this.steps, { kind: { case: "include", value: setOf(choice) } }]);
  }

  /** Then drops events of these agents. */
  exclude(choice: AuthorChoice): Authors {
    return new Authors([...this.steps, { kind: { case: "exclude", value: setOf(choice) } }]);
  }
}

const setOf = ({ ids = [], roles = [] }: AuthorChoice) => ({ ids: [...ids], roles: [...roles] });

/** The conditions of a filter. Conditions combine with AND, values inside one with OR; then at most one window applies. */
export interface FilterOptions {
  /** Earliest time, inclusive. */
  fromTime?: Date | undefined;
  /** Latest time, inclusive. */
  toTime?: Date | undefined;
  /** Seq that events must exceed. */
  afterSeq?: Int | undefined;
  /** Seq that events must precede. */
  beforeSeq?: Int | undefined;
  /** Roles of the message. At most 16. */
  roles?: readonly RoleName[] | undefined;
  /** Authors to include and exclude. */
  authors?: Authors | undefined;
  /** Leaves out synthetic events, such as summaries. */
  excludeSynthetic?: boolean | undefined;
  /** Part of the log: "active", or "history", the default, which includes archived events. */
  view?: ViewName | undefined;
  /** Substring that the text contains, after case folding. At most 1,024 characters. */
  keyword?: string | undefined;
  /** Substrings that the text contains, combined by `match`. At most 64. */
  keywords?: readonly string[] | undefined;
  /** Default: "any". */
  match?: MatchName | undefined;
  /** Invocation ids of the events, compared exactly. At most 64. */
  invocationIds?: readonly string[] | undefined;
  /** Native formats of the events, compared exactly. At most 16. */
  nativeFormats?: readonly string[] | undefined;
  /** Top-level values of the metadata, numbers and booleans as JSON text. All must match; at most 16. */
  metadata?: Readonly<Record<string, string>> | undefined;
  /** Regular expression in the syntax of RE2 that matches somewhere in the text. Not for watches and consumers. */
  pattern?: string | undefined;
  /** Branch: what an agent on it sees, or with `branchMatch: "exact"` this branch only. */
  branch?: string | undefined;
  /** Default: "visible". */
  branchMatch?: BranchName | undefined;
  /** Window: the newest n matches, extended to the start of a turn unless there is a keyword. */
  lastN?: number | undefined;
  /** Window: the newest n matches, never extended. */
  exactLastN?: number | undefined;
  /** Window: one page by its number, from 0. */
  page?: { page?: number | undefined; pageSize: number } | undefined;
}

const WINDOW = ["lastN", "exactLastN", "page"] as const;

/** A filter of events; see `eventFilter`. Immutable. */
export class EventFilter {
  readonly #options: FilterOptions;
  /** The message as it is sent, for requests of the generated clients. */
  readonly message: FilterMessage;

  /** Use `eventFilter`. Throws TypeError for more than one window and for unknown names. */
  constructor(options: FilterOptions) {
    this.#options = options;
    this.message = create(EventFilterSchema, messageOf(options));
  }

  /**
   * Returns a filter with the conditions of both. What the other one sets replaces what this one sets: values are not added,
   * `keywords` go with their `match`, `branch` with its `branchMatch`, and a window replaces a window of any kind. Synthetic
   * events are left out if either leaves them out.
   */
  merge(other: EventFilter): EventFilter {
    const [mine, others] = [given(this.#options), given(other.#options)];
    if (WINDOW.some((name) => others[name] !== undefined)) WINDOW.forEach((name) => delete mine[name]);
    if (others.keywords !== undefined) delete mine.match;
    if (others.branch !== undefined) delete mine.branchMatch;
    return new EventFilter({ ...mine, ...others, excludeSynthetic: Boolean(mine.excludeSynthetic || others.excludeSynthetic) });
  }
}

/** Returns a filter: `eventFilter({ roles: ["user"], keyword: "refund", lastN: 20 })`. Throws TypeError for several windows. */
export const eventFilter = (options: FilterOptions = {}) => new EventFilter(options);

/** A filter: a result of `eventFilter`, its conditions, or a message. */
export type FilterLike = EventFilter | FilterOptions | FilterMessage;

/** Returns the message of a filter; undefined for none. */
export function filterOf(filter: FilterLike | undefined): FilterMessage | undefined {
  if (filter === undefined || filter instanceof EventFilter) return filter?.message;
  return "$typeName" in filter ? filter : new EventFilter(filter).message;
}

/** Returns a copy without undefined values. */
const given = (options: FilterOptions): FilterOptions => Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));

const big = (value: Int | undefined) => (value === undefined ? undefined : BigInt(value));

function messageOf(options: FilterOptions): MessageInitShape<typeof EventFilterSchema> {
  const { fromTime, toTime, roles = [], authors, keywords = [] } = options;
  return {
    fromTime: fromTime && timestampFromDate(fromTime),
    toTime: toTime && timestampFromDate(toTime),
    afterSeq: big(options.afterSeq),
    beforeSeq: big(options.beforeSeq),
    roles: roles.map(roleOf),
    authorFilters: [...(authors?.steps ?? [])],
    excludeSynthetic: options.excludeSynthetic,
    view: viewOf(options.view),
    keyword: options.keyword,
    keywords: [...keywords],
    keywordMatch: matchOf(options.match),
    invocationIds: [...(options.invocationIds ?? [])],
    nativeFormats: [...(options.nativeFormats ?? [])],
    metadata: { ...options.metadata },
    pattern: options.pattern,
    branch: options.branch,
    branchMatch: branchMatchOf(options.branchMatch),
    limit: limitOf(options),
  };
}

function limitOf({ lastN, exactLastN, page }: FilterOptions): MessageInitShape<typeof EventFilterSchema>["limit"] {
  if ([lastN, exactLastN, page].filter((window) => window !== undefined).length > 1) {
    throw new TypeError("set at most one window: lastN, exactLastN or page");
  }
  if (lastN !== undefined) return { case: "lastN", value: lastN };
  if (exactLastN !== undefined) return { case: "exactLastN", value: exactLastN };
  return page && { case: "page", value: page };
}
