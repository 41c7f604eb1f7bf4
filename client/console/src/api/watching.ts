// Live changes. The client reopens a broken stream where it stopped, so nothing is missed or delivered twice.

import { isCanceled, CheckpointKind, type Change } from "@threadkeep/client";
import { useEffect, useRef, useState } from "react";

import { useConnection } from "./connection";

/** What a watch does: it opens, delivers, has lost the server for a while, or has failed for good. */
export type WatchState = "opening" | "live" | "away" | "failed";

export interface Watched {
  state: WatchState;
  error: Error | undefined;
}

/** Milliseconds after which a stream without a heartbeat counts as away; the server sends one every 15 seconds. */
const QUIET = 20_000;

/**
 * Watches while the component is mounted and calls `receive` with each change but checkpoints. `open` returns the changes; undefined
 * while there is nothing to watch. The watch starts again when `key` changes.
 */
export function useWatch(
  key: string,
  open: ((signal: AbortSignal) => AsyncIterable<Change>) | undefined,
  receive: (change: Change) => void,
): Watched {
  const [watched, setWatched] = useState<Watched>({ state: "opening", error: undefined });
  const latest = useRef({ open, receive });
  latest.current = { open, receive };
  const { report } = useConnection();
  const isOn = open !== undefined;
  useEffect(() => {
    const { open: start } = latest.current;
    if (!start) return undefined;
    const stop = new AbortController();
    let alarm: ReturnType<typeof setTimeout>;
    const show = (state: WatchState, error?: Error) => {
      clearTimeout(alarm);
      if (stop.signal.aborted) return;
      setWatched((before) => (before.state === state && before.error === error ? before : { state, error }));
      if (state === "live") alarm = setTimeout(() => show("away"), QUIET);
    };
    show("opening");
    const run = async () => {
      for await (const change of start(stop.signal)) {
        if (stop.signal.aborted) return;
        const { kind } = change;
        show(kind.case === "checkpoint" && kind.value.kind === CheckpointKind.DRAINING ? "away" : "live");
        if (kind.case !== "checkpoint") latest.current.receive(change);
      }
    };
    run().catch((error: unknown) => {
      report(error);
      if (!isCanceled(error)) show("failed", error instanceof Error ? error : new Error(String(error)));
    });
    return () => {
      stop.abort();
      clearTimeout(alarm);
    };
  }, [key, isOn, report]);
  return watched;
}
