// Live changes. The client reopens a broken stream where it stopped, so nothing is missed or delivered twice.

import { isCanceled, CheckpointKind, type Change } from "@threadkeep/client";
import { useEffect, useRef, useState } from "react";

import { useConnection } from "./connection";
import { asError } from "./errors";

/** What a watch does: it opens, delivers, has lost the server for a while, or has failed for good. */
export type WatchState = "opening" | "live" | "away" | "failed";

export interface Watched {
  state: WatchState;
  error: Error | undefined;
}

/** Milliseconds in the background after which a tab closes its stream: a browser opens six connections to a server, for all tabs. */
const PATIENCE = 5_000;
/** Milliseconds after which a stream without a heartbeat counts as away; the server sends one every 15 seconds. */
const QUIET = 20_000;

/**
 * Watches while the component is mounted and calls `receive` with each change but checkpoints. `open` returns the changes, after those
 * of the resume token if there is one; it is undefined while there is nothing to watch. The watch starts again when `key` changes. A
 * tab in the background closes its stream, and catches up when it is shown.
 */
export function useWatch(
  key: string,
  open: ((signal: AbortSignal, resumeToken: string) => AsyncIterable<Change>) | undefined,
  receive: (change: Change) => void,
  /** Called if the first stream opens later, because the tab was in the background: changes before it are missed. */
  missed?: () => void,
): Watched {
  const [watched, setWatched] = useState<Watched>({ state: "opening", error: undefined });
  const latest = useRef({ open, receive, missed });
  latest.current = { open, receive, missed };
  const { report } = useConnection();
  const isOn = open !== undefined;
  useEffect(() => {
    const { open: start } = latest.current;
    if (!start) return undefined;
    let stop = new AbortController();
    let token = "";
    const wasHidden = document.hidden;
    let alarm: ReturnType<typeof setTimeout>;
    const show = (state: WatchState, error?: Error) => {
      clearTimeout(alarm);
      setWatched((before) => (before.state === state && before.error === error ? before : { state, error }));
      if (state === "live") alarm = setTimeout(() => show("away"), QUIET);
    };
    const run = async ({ signal }: AbortController) => {
      for await (const change of start(signal, token)) {
        if (signal.aborted) return;
        const { kind } = change;
        if (!token && wasHidden) latest.current.missed?.();
        token = change.resumeToken || token;
        show(kind.case === "checkpoint" && kind.value.kind === CheckpointKind.DRAINING ? "away" : "live");
        if (kind.case !== "checkpoint") latest.current.receive(change);
      }
    };
    const begin = () => {
      stop = new AbortController();
      const { signal } = stop;
      show("opening");
      run(stop).catch((error: unknown) => {
        if (signal.aborted) return;
        report(error);
        if (!isCanceled(error)) show("failed", asError(error));
      });
    };
    const end = () => {
      stop.abort();
      clearTimeout(alarm);
    };
    const unlisten = whileVisible(begin, end);
    return () => {
      unlisten();
      end();
    };
  }, [key, isOn, report]);
  return watched;
}

/** Calls `begin` when the tab is shown, and `end` when it has been in the background for a while. Returns what stops that. */
function whileVisible(begin: () => void, end: () => void): () => void {
  let isOpen = false;
  let parting: ReturnType<typeof setTimeout>;
  const change = () => {
    clearTimeout(parting);
    if (!document.hidden && !isOpen) {
      isOpen = true;
      begin();
    } else if (document.hidden && isOpen) {
      parting = setTimeout(() => {
        isOpen = false;
        end();
      }, PATIENCE);
    }
  };
  change();
  document.addEventListener("visibilitychange", change);
  return () => {
    clearTimeout(parting);
    document.removeEventListener("visibilitychange", change);
  };
}
