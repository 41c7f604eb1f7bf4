// Whether a session has ended since the page was opened.

import { SessionChangeKind, type Change } from "@threadkeep/client";
import { useState } from "react";

import { useClient } from "./connection";
import { useWatch } from "./watching";

export type EndingKind = "deleted" | "moved";

/** Returns how a change ended its session for the reader; undefined if it did not. */
export function endingOf({ kind }: Change): EndingKind | undefined {
  if (kind.case !== "sessionChange") return undefined;
  const { kind: of } = kind.value;
  if (of === SessionChangeKind.DELETED || of === SessionChangeKind.EXPIRED) return "deleted";
  return of === SessionChangeKind.MOVED_OUT ? "moved" : undefined;
}

interface Ref {
  app: string;
  userId: string;
  sessionId: string;
}

/** Calls `receive` with each change of a session from now on, if it is on. */
export function useSessionChanges(ref: Ref, isOn: boolean, receive: (change: Change) => void): void {
  const client = useClient();
  useWatch(
    `changes of ${JSON.stringify([ref.app, ref.userId, ref.sessionId])}`,
    isOn ? (signal, resumeToken) => client.session(ref).watch({ from: resumeToken ? { resumeToken } : "now", checkpoints: true }, { signal }) : undefined,
    receive,
  );
}

/** Returns how the session of these names ended, and what notes its changes. A new session of the same name ends that. */
export function useEnding(ref: Ref): [EndingKind | undefined, (change: Change) => void] {
  const key = JSON.stringify([ref.app, ref.userId, ref.sessionId]);
  const [ended, setEnded] = useState<{ key: string; ending: EndingKind | undefined }>();
  const note = (change: Change) => change.kind.case === "sessionChange" && setEnded({ key, ending: endingOf(change) });
  return [ended?.key === key ? ended.ending : undefined, note];
}
