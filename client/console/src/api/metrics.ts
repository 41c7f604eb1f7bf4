// The metrics of the server that answered: counters of its calls, and what its operators watch. The page is in the text format of
// Prometheus; only what the console shows is read.

import { useQuery } from "@tanstack/react-query";

import { SERVER } from "../place";
import { storedToken } from "./session-token";

/** The calls of one RPC since the server started: how many took at most so many seconds, by bound. */
export interface Calls {
  buckets: ReadonlyMap<number, number>;
  count: number;
}

export interface Metrics {
  /** Time at which the server started; it distinguishes the servers of a fleet. */
  started: number;
  /** Milliseconds, by the clock of the page. */
  read: number;
  values: ReadonlyMap<string, number>;
  calls: ReadonlyMap<string, Calls>;
}

/** Why there are no metrics: they are on another port, or need a role. */
export class NoMetrics extends Error {
  constructor(readonly kind: "elsewhere" | "role" | "failed") {
    super(kind);
  }
}

const LINE = /^threadkeep_(\w+?)(?:\{([^}]*)\})? (\S+)$/;
const LABEL = /(\w+)="([^"]*)"/g;

export function parseMetrics(page: string, read: number): Metrics {
  const values = new Map<string, number>();
  const calls = new Map<string, { buckets: Map<number, number>; count: number }>();
  for (const line of page.split("\n")) {
    const found = LINE.exec(line);
    if (!found) continue;
    const [, name = "", labelled = "", number = ""] = found;
    const labels = Object.fromEntries([...labelled.matchAll(LABEL)].map(([, key, value]) => [key, value]));
    const value = Number(number);
    if (labelled === "") values.set(name, value);
    if (name !== "call_duration_seconds_bucket") continue;
    const rpc = labels["rpc"] ?? "";
    const of = calls.get(rpc) ?? { buckets: new Map<number, number>(), count: 0 };
    calls.set(rpc, of);
    if (labels["le"] === "+Inf") of.count = value;
    else of.buckets.set(Number(labels["le"]), value);
  }
  return { started: values.get("start_time_seconds") ?? 0, read, values, calls };
}

async function readMetrics(signal: AbortSignal): Promise<Metrics> {
  const token = storedToken();
  const answer = await fetch(`${SERVER}/metrics`, { signal, cache: "no-store", headers: token ? { authorization: `Bearer ${token}` } : {} });
  if (answer.status === 404) throw new NoMetrics("elsewhere");
  if (answer.status === 401 || answer.status === 403) throw new NoMetrics("role");
  if (!answer.ok) throw new NoMetrics("failed");
  return parseMetrics(await answer.text(), Date.now());
}

/** Reads the metrics again and again while the page is shown. */
export function useMetrics(period: number) {
  return useQuery({
    queryKey: ["metrics"],
    queryFn: ({ signal }) => readMetrics(signal),
    refetchInterval: ({ state }) => (state.error instanceof NoMetrics && state.error.kind !== "failed" ? false : period),
    structuralSharing: false,
    retry: false,
    staleTime: 0,
  });
}
