// The virtualizer of a timeline. Its cost grows with its rows, for each that is measured; so it has those around the reader only, and
// the others count as space before and after. The place of every row is the same as if all were there.

import { useVirtualizer, type Virtualizer } from "@tanstack/react-virtual";
import { useCallback, useLayoutEffect, useMemo, useRef, useState, type RefObject } from "react";

import type { Rows } from "./folds";

/** Rows that the virtualizer has at most. */
const SOME = 2_000;
/** Rows by which it moves; from its end it also keeps the reader about that far. */
const STEP = 500;
/** Pixels of a row that was not measured yet. */
const ESTIMATE = 96;
/** Pixels of all rows before they are measured, at most: Firefox has no element of more than 17,895,697 pixels. */
const TALLEST = 15_000_000;
/** Rows that do not fit into any window: an element that cannot scroll would report no other offset than the first. */
const MANY = 200;
/** Pixels below the last row. */
const BELOW = 24;

export interface VirtualRow {
  index: number;
  /** Index among the rows of the virtualizer. */
  place: number;
  key: number;
  start: number;
}

export interface VirtualRows {
  items: readonly VirtualRow[];
  total: number;
  measure: (element: HTMLDivElement | null) => void;
  /** Leads to a row. What is measured meanwhile moves it: call it again when `total` has changed. */
  scrollTo: (index: number, align: "start" | "end") => void;
}

type Of = Virtualizer<HTMLDivElement, HTMLDivElement>;

/** `begin` returns the index of the row to begin at. */
export function useVirtualRows(rows: Rows, scroller: RefObject<HTMLDivElement | null>, begin: () => number): VirtualRows {
  const [wanted, setFrom] = useState(() => windowAt(rows.count, rows.count));
  const from = Math.min(wanted, windowAt(rows.count, rows.count));
  const count = Math.min(SOME, rows.count - from);
  const [estimate] = useState(() => Math.max(1, Math.min(ESTIMATE, Math.floor(TALLEST / rows.count))));
  const known = useRef<Of["itemSizeCache"]>(new Map());
  const [before, after] = useMemo(() => spaces(rows, from, from + count, estimate, known.current), [rows, from, count, estimate]);
  // Another function would make the virtualizer lay out its rows again.
  const getItemKey = useCallback((index: number) => rows.key(from + index), [rows, from]);
  const virtual: Of = useVirtualizer({
    count,
    getScrollElement: () => scroller.current,
    estimateSize: () => estimate,
    getItemKey,
    overscan: 6,
    paddingStart: before,
    paddingEnd: after + BELOW,
    // Else the rows of another place are rendered and read first.
    initialOffset: () => (rows.count > MANY ? begin() * estimate : 0),
  });
  known.current = virtual.itemSizeCache;
  const items = virtual.getVirtualItems().map(({ index, key, start }) => ({ index: from + index, place: index, key: Number(key), start }));
  const total = virtual.getTotalSize();
  const { scrollOffset, range } = virtual;
  /** The row to lead to once the virtualizer has it. */
  const awaited = useRef<[index: number, align: "start" | "end"]>(undefined);
  useLayoutEffect(() => {
    if (awaited.current) {
      const [index, align] = awaited.current;
      awaited.current = undefined;
      virtual.scrollToIndex(index - from, { align });
      return;
    }
    if (scrollOffset === null || !range) return;
    const end = total - after - BELOW;
    let at = from + range.startIndex;
    if (scrollOffset < before) at = Math.floor((from * scrollOffset) / before);
    else if (scrollOffset > end) at = from + count + Math.floor(((rows.count - from - count) * (scrollOffset - end)) / Math.max(1, after));
    if (at - from > STEP / 2 && from + count - at > STEP / 2) return;
    const isMoving = Math.abs(scroller.current!.scrollTop - scrollOffset) > 1; // the scroll event is on its way
    if (!isMoving) setFrom(windowAt(at, rows.count));
  }, [virtual, scroller, scrollOffset, range, from, count, before, after, total, rows]);

  const latest = useRef({ virtual, from, count, rows });
  latest.current = { virtual, from, count, rows };
  const scrollTo = useCallback((index: number, align: "start" | "end") => {
    const { virtual: of, from: first, count: some, rows: all } = latest.current;
    if (index >= first && index < first + some) of.scrollToIndex(index - first, { align });
    else {
      awaited.current = [index, align];
      setFrom(windowAt(index, all.count));
    }
  }, []);
  return { items, total, measure: virtual.measureElement, scrollTo };
}

/** Returns the first of the rows around this one. */
const windowAt = (at: number, count: number): number => {
  const last = Math.max(0, Math.ceil((count - SOME) / STEP) * STEP);
  return Math.max(0, Math.min(last, Math.floor((at - SOME / 2) / STEP) * STEP));
};

/** Returns the pixels of the rows before `from`, and of those from `end` on: as measured, the others as estimated. */
function spaces(rows: Rows, from: number, end: number, estimate: number, known: Of["itemSizeCache"]): [number, number] {
  let [before, after] = [from * estimate, (rows.count - end) * estimate];
  for (const [key, size] of known) {
    const index = rows.indexOf(Math.abs(Number(key)));
    if (rows.key(index) !== key) continue; // folded away
    if (index < from) before += size - estimate;
    else if (index >= end) after += size - estimate;
  }
  return [before, after];
}
