import { useNavigate } from "@tanstack/react-router";
import { useCallback, useEffect, useMemo, useRef, useState } from "react";

import { Icon } from "../../components/icons";
import { text } from "../../text";
import { EventRow } from "./event-row";
import type { SessionEvent } from "@threadkeep/client";
import type { Compaction, SessionRef } from "@threadkeep/client/v1";
import { FoldRow } from "./fold-row";
import { foldsOf, Rows, type Fold } from "./folds";
import { JumpBar } from "./jump-bar";
import { Inspector } from "./inspector";
import { pairsOf } from "./tool-calls";
import { pagesOf } from "./log-pages";
import type { Log } from "./use-log";
import { useVirtualRows } from "./use-virtual-rows";

interface Props {
  log: Log;
  session: SessionRef;
  compactions: readonly Compaction[];
  seq: string | undefined;
  /** Reports the pages that are visible, as `pagesOf` names them. */
  show: (pages: string) => void;
}

/** Events before and after the visible ones that are read ahead. */
const AHEAD = 30;
/** Pixels from the end within which the reader counts as being there. */
const NEAR = 48;

/** All events by seq, of which only the visible ones exist. It follows the newest until the reader scrolls up. */
export function Timeline({ log, session, compactions, seq, show }: Props) {
  const { lastSeq } = log;
  const scroller = useRef<HTMLDivElement>(null);
  const [isFollowing, setFollowing] = useState(seq === undefined);
  const [seen, setSeen] = useState(lastSeq);
  const navigate = useNavigate({ from: "/session" });
  const [opened, setOpened] = useState<ReadonlySet<number>>(() => new Set());
  const [inspected, setInspected] = useState<SessionEvent>();
  const folds = useFolds(compactions, isFollowing);
  const wantedSeq = Number(seq) || 0;
  const rows = useMemo(
    () => new Rows(lastSeq, folds, (fold) => opened.has(fold.first)),
    [lastSeq, folds, opened],
  );
  const { items, total, measure, scrollTo } = useVirtualRows(rows, scroller, () => (isFollowing ? rows.count : rows.indexOf(wantedSeq)));
  const seqs = items.flatMap(({ index }) => {
    const row = rows.row(index);
    return row.kind === "event" ? [row.seq] : [];
  });
  const last = seqs.at(-1) ?? 0;
  const pages = seqs[0] ? pagesOf(Math.max(1, seqs[0] - AHEAD), Math.min(lastSeq, last + AHEAD)) : "";
  useEffect(() => {
    if (pages) show(pages);
  }, [pages, show]);

  const latest = useRef({ rows, folds, isFollowing });
  latest.current = { rows, folds, isFollowing };
  /** The event that was led to, until the reader moves: what is read and measured meanwhile must not push it away. */
  const target = useRef(0);
  /** Leads to an event, after opening the fold that it is in. */
  const goTo = useCallback((wanted: number) => {
    const fold = latest.current.folds.find(({ first: from, last: to }) => from <= wanted && wanted <= to);
    if (fold) setOpened((before) => new Set(before).add(fold.first));
    setFollowing(false);
    target.current = wanted;
    requestAnimationFrame(() => scrollTo(latest.current.rows.indexOf(wanted), "start"));
  }, [scrollTo]);
  const leave = () => {
    target.current = 0;
  };
  const toggle = useCallback((fold: Fold) => {
    setFollowing(false);
    target.current = 0;
    setOpened((before) => (before.has(fold.first) ? new Set([...before].filter((each) => each !== fold.first)) : new Set(before).add(fold.first)));
  }, []);
  useEffect(() => {
    if (wantedSeq >= 1 && !latest.current.isFollowing) goTo(wantedSeq);
    // A new address leads there, and the folds that have been read since; new events do not.
  }, [wantedSeq, goTo, folds.length]);
  const from = items[0]?.index ?? 0;
  useEffect(() => {
    if (isFollowing && rows.count > 0) scrollTo(rows.count - 1, "end");
    else if (target.current) scrollTo(rows.indexOf(target.current), "start");
  }, [isFollowing, rows, total, from, scrollTo]);
  useEffect(() => {
    if (isFollowing || last >= lastSeq) setSeen(lastSeq);
  }, [isFollowing, last, lastSeq]);

  /** A reader who scrolls up stays where they are; one who comes back to the end follows again. */
  const settle = () => {
    if (target.current) return; // the page scrolled, not the reader
    const { scrollTop, scrollHeight, clientHeight } = scroller.current!;
    setFollowing(scrollHeight - scrollTop - clientHeight < NEAR);
  };
  const pairs = useMemo(() => pairsOf(log.loaded), [log.loaded]);
  const jump = (wanted: number) => {
    const found = Math.max(1, Math.min(wanted, lastSeq));
    goTo(found);
    void navigate({ search: (before) => ({ ...before, seq: String(found) }), replace: true });
  };
  return (
    <section className="timeline" aria-label={text.session.timeline}>
      <div className="toolbar">
        <JumpBar session={session} lastSeq={lastSeq} seq={seq} jump={jump} />
        <label className="switch" title={text.session.followHint}>
          <input type="checkbox" role="switch" checked={isFollowing} onChange={(event) => setFollowing(event.target.checked)} />
          <span>{text.session.follow}</span>
        </label>
      </div>
      <div className="scroller" ref={scroller} tabIndex={0} role="feed" aria-label={text.session.timeline} onWheel={leave} onTouchMove={leave} onPointerDown={leave} onKeyDown={leave} onScroll={settle}>
        <div className="spread" style={{ height: total }}>
          {items.map(({ index, place, key, start }) => {
            const row = rows.row(index);
            return (
              <div key={key} ref={measure} data-index={place} className="slot" style={{ transform: `translateY(${start}px)` }}>
                {row.kind === "fold" ? (
                  <FoldRow fold={row.fold} isOpen={opened.has(row.fold.first)} toggle={toggle} />
                ) : (
                  <EventRow seq={row.seq} event={log.at(row.seq)} pairs={pairs} isMarked={row.seq === wantedSeq} goTo={goTo} inspect={setInspected} />
                )}
              </div>
            );
          })}
        </div>
      </div>
      {lastSeq > seen && !isFollowing && (
        <button type="button" className="unseen" onClick={() => setFollowing(true)}>
          <Icon name="down" />
          {text.session.unseen(lastSeq - seen)}
        </button>
      )}
      {inspected && <Inspector event={inspected} session={session} close={() => setInspected(undefined)} />}
    </section>
  );
}

/** Returns the folds. Those that arrive while the reader is elsewhere wait until the end is followed: they would move the page. */
function useFolds(compactions: readonly Compaction[], isFollowing: boolean): Fold[] {
  const [shown, setShown] = useState(compactions);
  useEffect(() => {
    if (isFollowing || shown.length === 0) setShown(compactions);
  }, [compactions, isFollowing, shown.length]);
  return useMemo(() => foldsOf(shown), [shown]);
}
