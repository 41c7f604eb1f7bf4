// Rows of a timeline: its events by seq, with what compactions archived folded away. Nothing here depends on the number of events.

import type { Compaction } from "@threadkeep/client/v1";

/** Compactions whose archived events overlap, and the seqs from the first to the last of them. */
export interface Fold {
  first: number;
  last: number;
  compactions: Compaction[];
}

export type Row = { kind: "event"; seq: number } | { kind: "fold"; fold: Fold };

interface Segment {
  /** Index of the first row. */
  at: number;
  first: number;
  count: number;
  fold: Fold | undefined;
}

/** Returns the folds in the order of their seqs; overlapping compactions share one. */
export function foldsOf(compactions: readonly Compaction[]): Fold[] {
  const archiving = compactions.filter(({ archivedEvents, firstSeq }) => archivedEvents > 0n && firstSeq > 0n);
  const folds: Fold[] = [];
  for (const each of archiving.toSorted((one, other) => Number(one.firstSeq - other.firstSeq))) {
    const [first, last, before] = [Number(each.firstSeq), Number(each.lastSeq), folds.at(-1)];
    if (before && first <= before.last) {
      before.last = Math.max(before.last, last);
      before.compactions.push(each);
    } else folds.push({ first, last, compactions: [each] });
  }
  return folds;
}

/** The rows of a log with `lastSeq` events. */
export class Rows {
  readonly count: number;
  private readonly segments: Segment[] = [];

  constructor(lastSeq: number, folds: readonly Fold[], isOpen: (fold: Fold) => boolean) {
    let [seq, at] = [1, 0];
    const add = (first: number, count: number, fold?: Fold) => {
      if (count > 0) this.segments.push({ at, first, count, fold });
      at += count;
    };
    for (const fold of folds) {
      add(seq, fold.first - seq);
      add(fold.first, 1, fold);
      seq = isOpen(fold) ? fold.first : fold.last + 1;
    }
    add(seq, lastSeq - seq + 1);
    this.count = at;
  }

  private segmentOf(index: number): Segment {
    let place = this.segments.length - 1;
    while (this.segments[place]!.at > index) place -= 1;
    return this.segments[place]!;
  }

  /** Returns a name of the row that stays when others come and go: the seq of an event, minus the first seq of a fold. */
  key(index: number): number {
    const { at, first, fold } = this.segmentOf(index);
    return fold ? -first : first + index - at;
  }

  row(index: number): Row {
    const segment = this.segmentOf(index);
    return segment.fold ? { kind: "fold", fold: segment.fold } : { kind: "event", seq: segment.first + index - segment.at };
  }

  /** Returns the index of an event's row; that of its fold if it is folded away. */
  indexOf(seq: number): number {
    const inside = this.segments.find(({ fold, first, count }) => !fold && first <= seq && seq < first + count);
    if (inside) return inside.at + seq - inside.first;
    return this.segments.find(({ fold }) => fold && fold.first <= seq && seq <= fold.last)?.at ?? Math.max(0, this.count - 1);
  }
}
