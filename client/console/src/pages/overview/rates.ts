// Rates and durations of calls, from the differences between two reads of the server's counters.

import type { Metrics } from "../../api/metrics";

export type Group = "appends" | "reads" | "searches";
export const GROUPS: readonly Group[] = ["appends", "reads", "searches"];

const SEARCHES = new Set(["SearchEvents", "SearchMemory"]);
/** The console's own look at the server. */
const OWN = new Set(["GetServerInfo", "ListAuditRecords"]);

function groupOf(rpc: string): Group | undefined {
  if (rpc === "AppendEvents") return "appends";
  if (SEARCHES.has(rpc)) return "searches";
  return /^(Get|List|Load)/.test(rpc) && !OWN.has(rpc) ? "reads" : undefined;
}

/** What happened between two reads, of one group. */
export interface Point {
  perSecond: number;
  /** Calls by the upper bound of their duration, in seconds; Infinity for the longest. Not cumulative. */
  durations: ReadonlyMap<number, number>;
}

export type Sample = Readonly<Record<Group, Point>>;

/** Returns what happened between two reads of the same server; undefined if they are of two, or of one that was restarted. */
export function sampleOf(before: Metrics, after: Metrics): Sample | undefined {
  const seconds = (after.read - before.read) / 1000;
  if (before.started !== after.started || seconds <= 0) return undefined;
  const counts: Record<Group, Map<number, number>> = { appends: new Map(), reads: new Map(), searches: new Map() };
  for (const [rpc, calls] of after.calls) {
    const group = groupOf(rpc);
    if (!group) continue;
    const earlier = before.calls.get(rpc);
    let below = 0;
    for (const [bound, upTo] of [...calls.buckets, [Infinity, calls.count] as const]) {
      const all = upTo - (bound === Infinity ? (earlier?.count ?? 0) : (earlier?.buckets.get(bound) ?? 0));
      counts[group].set(bound, (counts[group].get(bound) ?? 0) + all - below);
      below = all;
    }
  }
  const point = (durations: Map<number, number>): Point => ({ perSecond: sum(durations.values()) / seconds, durations });
  return { appends: point(counts.appends), reads: point(counts.reads), searches: point(counts.searches) };
}

const sum = (values: Iterable<number>): number => [...values].reduce((all, each) => all + each, 0);

/** Returns the duration within which a part of the calls ended, in milliseconds; undefined without calls. Between bounds it is estimated. */
export function quantile(points: readonly Point[], part: number): number | undefined {
  const merged = new Map<number, number>();
  for (const { durations } of points) for (const [bound, count] of durations) merged.set(bound, (merged.get(bound) ?? 0) + count);
  const bounds = [...merged.keys()].sort((one, other) => one - other);
  let left = sum(merged.values()) * part;
  if (left <= 0) return undefined;
  let lower = 0;
  for (const bound of bounds) {
    const count = merged.get(bound)!;
    if (count >= left && bound !== Infinity) return (lower + (bound - lower) * (left / count)) * 1000;
    left -= count;
    if (bound !== Infinity) lower = bound;
  }
  return lower * 1000; // longer than the last bound
}
