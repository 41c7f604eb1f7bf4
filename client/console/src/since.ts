// The filter "since", as addresses have it.

const HOURS: Readonly<Record<string, number>> = { "1h": 1, "24h": 24, "7d": 168, "30d": 720 };

/** Returns when the time began, in milliseconds since the epoch; undefined for any time, and for one that is not known. */
export function beginOf(since: string): number | undefined {
  const hours = HOURS[since];
  return hours === undefined ? undefined : Date.now() - hours * 3_600_000;
}
