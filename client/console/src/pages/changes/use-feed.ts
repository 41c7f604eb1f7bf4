// The newest changes of the feed since the page was opened.

import type { Change } from "@threadkeep/client";
import { useEffect, useRef, useState } from "react";

import { useClient } from "../../api/connection";
import { useWatch } from "../../api/watching";

/** Changes that are kept; older ones are in their sessions. */
const KEPT = 200;
/** Milliseconds. Many changes in a moment are drawn once. */
const PAUSE = 100;

export interface Numbered {
  number: number;
  change: Change;
}

/** Returns the changes, newest first. While it is paused they are collected, but not shown. */
export function useFeed(app: string | undefined, user: string, isPaused: boolean) {
  const client = useClient();
  const [shown, setShown] = useState<Numbered[]>([]);
  const [waiting, setWaiting] = useState(0);
  const kept = useRef<Numbered[]>([]);
  const count = useRef(0);
  const seen = useRef(0);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const draw = useRef(() => {});
  draw.current = () => {
    timer.current = undefined;
    if (!isPaused) {
      setShown(kept.current);
      seen.current = count.current;
    }
    setWaiting(count.current - seen.current);
  };
  useEffect(() => draw.current(), [isPaused]);
  useEffect(() => () => clearTimeout(timer.current), []);
  const scope = `changes ${app ?? "*"} ${user}`;
  useEffect(() => {
    kept.current = [];
    setShown([]);
  }, [scope]);
  const watched = useWatch(
    scope,
    (signal, resumeToken) => client.watchAll({ from: resumeToken ? { resumeToken } : "now", ...(app === undefined ? { anyApp: true } : { app }), ...(user ? { userId: user } : { anyUser: true }), checkpoints: true }, { signal }),
    (change) => {
      kept.current = [{ number: ++count.current, change }, ...kept.current].slice(0, KEPT);
      timer.current ??= setTimeout(() => draw.current(), PAUSE);
    },
  );
  return { changes: shown, waiting, watched };
}
