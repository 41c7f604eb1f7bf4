import { useNavigate } from "@tanstack/react-router";
import { useVirtualizer } from "@tanstack/react-virtual";
import { useCallback, useEffect, useMemo, useRef, useState, type FormEvent } from "react";

import { Icon } from "../../components/icons";
import { text } from "../../text";
import { EventRow } from "./event-row";
import { pairsOf } from "./tool-calls";
import type { Log } from "./use-log";

interface Props {
  log: Log;
  seq: string | undefined;
  show: (range: { first: number; last: number }) => void;
}

/** Pixels of an event that was not measured yet. */
const ESTIMATE = 96;
/** Pixels from the end within which the reader counts as being there. */
const NEAR = 48;

/** All events by seq, of which only the visible ones exist. It follows the newest until the reader scrolls up. */
export function Timeline({ log, seq, show }: Props) {
  const { lastSeq } = log;
  const scroller = useRef<HTMLDivElement>(null);
  const [isFollowing, setFollowing] = useState(seq === undefined);
  const [seen, setSeen] = useState(lastSeq);
  const navigate = useNavigate({ from: "/session" });
  const virtual = useVirtualizer({
    count: lastSeq,
    getScrollElement: () => scroller.current,
    estimateSize: () => ESTIMATE,
    overscan: 6,
    paddingEnd: 24,
  });
  const items = virtual.getVirtualItems();
  const [first, last] = [(items[0]?.index ?? 0) + 1, (items.at(-1)?.index ?? 0) + 1];
  useEffect(() => {
    if (items.length > 0) show({ first, last });
  }, [first, last, items.length, show]);

  const goTo = useCallback((wanted: number) => virtual.scrollToIndex(wanted - 1, { align: "start" }), [virtual]);
  useEffect(() => {
    if (seq !== undefined && Number(seq) >= 1) goTo(Math.min(Number(seq), lastSeq));
    // Only a new address leads there; new events do not.
  }, [seq, goTo]);
  const total = virtual.getTotalSize();
  useEffect(() => {
    if (isFollowing && lastSeq > 0) virtual.scrollToIndex(lastSeq - 1, { align: "end" });
  }, [isFollowing, lastSeq, total, virtual]);
  useEffect(() => {
    if (isFollowing || last >= lastSeq) setSeen(lastSeq);
  }, [isFollowing, last, lastSeq]);

  /** A reader who scrolls up stays where they are; one who comes back to the end follows again. */
  const settle = () => {
    const { scrollTop, scrollHeight, clientHeight } = scroller.current!;
    setFollowing(scrollHeight - scrollTop - clientHeight < NEAR);
  };
  const pairs = useMemo(() => pairsOf(log.loaded), [log.loaded]);
  const jump = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const wanted = Number(new FormData(event.currentTarget).get("seq"));
    if (!(wanted >= 1)) return;
    setFollowing(false);
    goTo(Math.min(wanted, lastSeq));
    void navigate({ search: (before) => ({ ...before, seq: String(Math.min(wanted, lastSeq)) }), replace: true });
  };
  return (
    <section className="timeline" aria-label={text.session.timeline}>
      <div className="toolbar">
        <form onSubmit={jump}>
          <label className="inline">
            {text.session.jump}
            <input name="seq" type="number" min={1} max={lastSeq} inputMode="numeric" defaultValue={seq} />
          </label>
        </form>
        <label className="switch" title={text.session.followHint}>
          <input type="checkbox" role="switch" checked={isFollowing} onChange={(event) => setFollowing(event.target.checked)} />
          <span>{text.session.follow}</span>
        </label>
      </div>
      <div className="scroller" ref={scroller} tabIndex={0} role="feed" aria-label={text.session.timeline} onWheel={settle} onTouchMove={settle} onScroll={settle}>
        <div className="spread" style={{ height: total }}>
          {items.map(({ index, key, start }) => (
            <div key={key} ref={virtual.measureElement} data-index={index} className="slot" style={{ transform: `translateY(${start}px)` }}>
              <EventRow seq={index + 1} event={log.at(index + 1)} pairs={pairs} isMarked={String(index + 1) === seq} goTo={goTo} />
            </div>
          ))}
        </div>
      </div>
      {lastSeq > seen && !isFollowing && (
        <button type="button" className="unseen" onClick={() => setFollowing(true)}>
          <Icon name="down" />
          {text.session.unseen(lastSeq - seen)}
        </button>
      )}
    </section>
  );
}
