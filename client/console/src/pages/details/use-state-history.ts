// Which append changed which value of a session's state, from the feed: it has every change with its new values, and the value before
// is that of the change before.

import { timestampDate } from "@bufbuild/protobuf/wkt";
import type { Change } from "@threadkeep/client";
import { StateScope, type SessionRef, type StateChange } from "@threadkeep/client/v1";
import { useEffect, useRef, useState } from "react";

import { useClient } from "../../api/connection";
import { useWatch, type Watched } from "../../api/watching";

/** Milliseconds. The changes of a long session are drawn a few times a second. */
const PAUSE = 200;

/** A value as JSON text; undefined if the key had none. "unknown" if the feed does not say. */
export type Value = { kind: "json"; json: string } | { kind: "none" } | { kind: "unknown" };

export interface Entry {
  number: number;
  version: bigint;
  time: Date | undefined;
  /** Seq of the last event of the append; undefined for a change without events. */
  seq: bigint | undefined;
  /** Empty if the change was too large to be in the feed. */
  key: string;
  from: Value;
  to: Value;
}

interface History {
  entries: Entry[];
  watched: Watched;
}

const NONE: Value = { kind: "none" };
const UNKNOWN: Value = { kind: "unknown" };

/** What is known of the state while its changes are read in their order. */
class Reader {
  readonly entries: Entry[] = [];
  private values = new Map<string, Value>();
  private version = 0n;
  private isWhole = true;

  add(change: Change): void {
    const { kind } = change;
    if (kind.case === "batch" && kind.value.state) this.apply(kind.value.state, change, kind.value.events.at(-1)?.seq);
    if (kind.case === "state" && kind.value.scope === StateScope.SESSION) this.apply(kind.value, change, undefined);
  }

  private apply({ version, set, removed, omitted }: StateChange, { changeTime }: Change, seq: bigint | undefined): void {
    if (version !== this.version + 1n) this.forget(); // earlier changes have left the feed
    this.version = version;
    const time = changeTime && timestampDate(changeTime);
    if (omitted) {
      this.forget();
      this.entries.push({ number: this.entries.length, version, time, seq, key: "", from: UNKNOWN, to: UNKNOWN });
    }
    const next: [string, Value][] = [...Object.entries(set).map(([key, json]): [string, Value] => [key, { kind: "json", json }]), ...removed.map((key): [string, Value] => [key, NONE])];
    for (const [key, to] of next) {
      const from = this.values.get(key) ?? (this.isWhole ? NONE : UNKNOWN);
      this.values.set(key, to);
      this.entries.push({ number: this.entries.length, version, time, seq, key, from, to });
    }
  }

  private forget(): void {
    this.values.clear();
    this.isWhole = false;
  }
}

/**
 * Follows the session, and reads its changes from the beginning if that is on. `changed` is called when the history has more, `seen`
 * with each change.
 */
export function useStateHistory(ref: SessionRef, isOn: boolean, changed: () => void, seen: (change: Change) => void): History {
  const client = useClient();
  const [entries, setEntries] = useState<Entry[]>([]);
  const reader = useRef<Reader>(undefined);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const key = JSON.stringify([ref.app, ref.userId, ref.sessionId]);
  useEffect(() => () => clearTimeout(timer.current), []);
  const watched = useWatch(
    `state ${key} ${isOn}`,
    (signal, resumeToken) => {
      reader.current = isOn ? new Reader() : undefined;
      const now = resumeToken ? { resumeToken } : "now";
      return client.session(ref).watch({ from: isOn ? { afterSeq: 0 } : now, checkpoints: true }, { signal });
    },
    (change) => {
      seen(change);
      const { current } = reader;
      const count = current?.entries.length ?? 0;
      current?.add(change);
      if (!current || current.entries.length === count) return;
      timer.current ??= setTimeout(() => {
        timer.current = undefined;
        setEntries([...current.entries]);
        changed();
      }, PAUSE);
    },
  );
  return { entries, watched };
}
