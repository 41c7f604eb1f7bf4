// Deletes many sessions, a few at a time, and keeps a receipt of what was deleted and what was not.

import { isReason, ThreadkeepError } from "@threadkeep/client";
import { SessionService, type SessionRef } from "@threadkeep/client/v1";
import { useCallback, useEffect, useRef, useState } from "react";

import { useClient } from "../../api/connection";
import { asError } from "../../api/errors";
import { requestOf, type SessionFilters } from "./use-sessions";

/** Deletions at a time. More would wait for each other in the server. */
const AT_ONCE = 4;
/** Sessions of a page while they are counted. */
const PAGE = 1000;
/** Milliseconds between two pictures of the progress. */
const PAUSE = 100;

/** A session that was listed. Another one that has its name later is not deleted. */
export interface Listed {
  ref: SessionRef;
  uid: string;
}

export interface Failed extends Listed {
  reason: string;
}

export interface Receipt {
  deleted: SessionRef[];
  /** Those that were gone, also if another session has their name now. */
  missing: SessionRef[];
  failed: Failed[];
  /** Those that were not tried, because the deletion was stopped. */
  left: Listed[];
  events: bigint;
  memories: bigint;
  began: Date;
  ended: Date;
}

export type Step =
  | { kind: "idle" }
  | { kind: "counting"; count: number }
  /** `before`: of the deletion that these are tried again of. */
  | { kind: "confirming"; listed: Listed[]; before?: Receipt }
  | { kind: "running"; done: number; all: number }
  | { kind: "finished"; receipt: Receipt }
  | { kind: "failed"; error: Error };

const reasonOf = (error: unknown) => (error instanceof ThreadkeepError ? `${error.reason}: ${error.rawMessage}` : asError(error).message);

export function useBulkDelete() {
  const client = useClient();
  const [step, setStep] = useState<Step>({ kind: "idle" });
  const stopping = useRef<AbortController>(undefined);
  useEffect(() => () => stopping.current?.abort(), [client]);

  const ask = useCallback((listed: Listed[]) => setStep({ kind: "confirming", listed }), []);
  /** Returns to the question, for those that failed and those that were left. */
  const askAgain = useCallback((before: Receipt) => setStep({ kind: "confirming", listed: [...before.failed, ...before.left], before }), []);
  const stop = useCallback(() => stopping.current?.abort(), []);
  const close = useCallback(() => {
    stopping.current?.abort();
    setStep({ kind: "idle" });
  }, []);
  /** Leaves the question. What was deleted before it stays on record. */
  const cancel = useCallback(() => setStep((step) => (step.kind === "confirming" && step.before ? { kind: "finished", receipt: step.before } : step.kind === "confirming" ? { kind: "idle" } : step)), []);

  /** Collects all sessions that match, so that the question has their number. */
  const askAll = useCallback(
    async (filters: SessionFilters) => {
      const stopper = (stopping.current = new AbortController());
      const request = { ...requestOf(filters), pageSize: PAGE, withNewestEvent: false };
      const listed: Listed[] = [];
      let pageToken = "";
      setStep({ kind: "counting", count: 0 });
      try {
        do {
          const page = await client.raw(SessionService).listSessions({ ...request, pageToken }, { signal: stopper.signal });
          for (const { ref, uid } of page.sessions) if (ref) listed.push({ ref, uid });
          ({ nextPageToken: pageToken } = page);
          setStep({ kind: "counting", count: listed.length });
        } while (pageToken);
        setStep({ kind: "confirming", listed });
      } catch (error) {
        setStep(stopper.signal.aborted ? { kind: "idle" } : { kind: "failed", error: asError(error) });
      }
    },
    [client],
  );

  const run = useCallback(
    async (listed: Listed[], purgeMemories: boolean, before?: Receipt) => {
      const stopper = (stopping.current = new AbortController());
      const receipt: Receipt = { deleted: [], missing: [], failed: [], left: [], events: 0n, memories: 0n, began: new Date(), ended: new Date() };
      let next = 0;
      let drawn = 0;
      const draw = () => {
        if (Date.now() - drawn < PAUSE) return;
        drawn = Date.now();
        setStep({ kind: "running", done: receipt.deleted.length + receipt.missing.length + receipt.failed.length, all: listed.length });
      };
      const work = async () => {
        while (next < listed.length && !stopper.signal.aborted) {
          const { ref, uid } = listed[next++]!;
          try { // without the signal: a call that was sent ends, so the receipt knows what it did
            const answer = await client.raw(SessionService).deleteSession({ session: ref, uid, purgeMemories });
            (answer.deleted ? receipt.deleted : receipt.missing).push(ref);
            receipt.events += answer.deletedEvents;
            receipt.memories += answer.deletedMemories;
          } catch (error) {
            if (isReason(error, "VERSION_MISMATCH")) receipt.missing.push(ref);
            else receipt.failed.push({ ref, uid, reason: reasonOf(error) });
          }
          draw();
        }
      };
      draw();
      await Promise.all(Array.from({ length: AT_ONCE }, work));
      receipt.left = listed.slice(next);
      receipt.ended = new Date();
      setStep({ kind: "finished", receipt: before ? joined(before, receipt) : receipt });
    },
    [client],
  );
  return { step, ask, askAgain, askAll, run, stop, close, cancel };
}

/** Returns one receipt of a deletion and of its repetition, in which all is tried again that was not deleted. */
function joined(before: Receipt, again: Receipt): Receipt {
  return {
    ...again,
    deleted: [...before.deleted, ...again.deleted],
    missing: [...before.missing, ...again.missing],
    events: before.events + again.events,
    memories: before.memories + again.memories,
    began: before.began,
  };
}

/** Returns the receipt as JSON, for a file or a ticket. */
export function receiptJson({ deleted, missing, failed, left, events, memories, began, ended }: Receipt): string {
  const named = ({ app, userId, sessionId }: SessionRef) => ({ app, userId, sessionId });
  const content = {
    began: began.toISOString(),
    ended: ended.toISOString(),
    deletedEvents: Number(events),
    deletedMemories: Number(memories),
    deleted: deleted.map(named),
    missing: missing.map(named),
    failed: failed.map(({ ref, reason }) => ({ ...named(ref), reason })),
    left: left.map(({ ref }) => named(ref)),
  };
  return JSON.stringify(content, undefined, 2);
}
