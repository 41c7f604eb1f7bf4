import type { Timestamp } from "@bufbuild/protobuf/wkt";
import { timestampDate } from "@bufbuild/protobuf/wkt";

import { text } from "../text";

const RELATIVE = new Intl.RelativeTimeFormat("en", { style: "short", numeric: "always" });
const EXACT = new Intl.DateTimeFormat("en", { dateStyle: "medium", timeStyle: "long" });
const CLOCK = new Intl.DateTimeFormat("en", { hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false });
const UNITS = [["year", 31_536_000], ["month", 2_592_000], ["day", 86_400], ["hour", 3_600], ["minute", 60]] as const;

/** Returns the time from `now` in the largest fitting unit: "3 min. ago". */
export function relative(date: Date, now = Date.now()): string {
  const seconds = (date.getTime() - now) / 1000;
  for (const [unit, size] of UNITS) {
    if (Math.abs(seconds) >= size) return RELATIVE.format(Math.round(seconds / size), unit);
  }
  return Math.abs(seconds) < 5 ? text.now : RELATIVE.format(Math.round(seconds), "second");
}

/** Returns a time in full. */
export const exact = (date: Date): string => EXACT.format(date);

export function Ago({ time }: { time: Timestamp | undefined }) {
  if (!time) return null;
  const date = timestampDate(time);
  return (
    <time dateTime={date.toISOString()} title={EXACT.format(date)}>
      {relative(date)}
    </time>
  );
}

export function Clock({ time }: { time: Timestamp | undefined }) {
  if (!time) return null;
  const date = timestampDate(time);
  return (
    <time dateTime={date.toISOString()} title={EXACT.format(date)}>
      {CLOCK.format(date)}
    </time>
  );
}

/** Milliseconds between two times; undefined without both. */
export function between(from: Timestamp | undefined, to: Timestamp | undefined): number | undefined {
  return from && to ? timestampDate(to).getTime() - timestampDate(from).getTime() : undefined;
}

/** Returns a duration in the unit that fits: "340 ms", "2.4 s", "3 min". */
export function duration(milliseconds: number): string {
  if (milliseconds < 1000) return `${Math.max(0, Math.round(milliseconds))} ms`;
  if (milliseconds < 60_000) return `${(milliseconds / 1000).toFixed(1)} s`;
  return `${Math.round(milliseconds / 60_000)} min`;
}
