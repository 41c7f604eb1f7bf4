import { timestampDate } from "@bufbuild/protobuf/wkt";
import { Link } from "@tanstack/react-router";
import { useVirtualizer } from "@tanstack/react-virtual";
import { textOf } from "@threadkeep/client";
import { memo, useEffect, useRef } from "react";

import { AuthorMark } from "../../components/author";
import { short, whole } from "../../components/numbers";
import { Ago, relative } from "../../components/time";
import { text } from "../../text";
import type { Selection } from "./use-selection";
import type { SessionRow } from "./use-sessions";

interface Props {
  rows: SessionRow[];
  hasMore: boolean;
  isReading: boolean;
  read: () => void;
  /** Undefined if nothing may be done with a selection. */
  selection: Selection | undefined;
}

/** Pixels; the style sheet has the same. */
const ROW = 60;
/** Rows before the end at which the next page is read. */
const AHEAD = 30;
/** Characters of a message in a row. */
const SHOWN = 200;

const columns = text.sessions.columns;

/** A table of which only the visible rows exist. */
export function SessionTable({ rows, hasMore, isReading, read, selection }: Props) {
  const scroller = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW,
    getItemKey: (index) => rows[index]!.session.uid,
    overscan: 12,
  });
  const items = virtual.getVirtualItems();
  const last = items.at(-1)?.index ?? 0;
  useEffect(() => {
    if (hasMore && !isReading && last >= rows.length - AHEAD) read();
  }, [hasMore, isReading, last, rows.length, read]);
  const kind = selection ? "row selectable" : "row";
  return (
    <div className="table" role="table" aria-label={text.sessions.title} aria-rowcount={hasMore ? -1 : rows.length + 1}>
      <div role="rowgroup">
        <div role="row" className={`${kind} heads`}>
          {selection && <SelectAll rows={rows} selection={selection} />}
          <span role="columnheader">{columns.session}</span>
          <span role="columnheader">{columns.latest}</span>
          <span role="columnheader" className="number">{columns.events}</span>
          <span role="columnheader" className="number">{columns.tokens}</span>
          <span role="columnheader" className="number">{columns.active}</span>
        </div>
      </div>
      <div ref={scroller} className="scroller" role="rowgroup" tabIndex={0} aria-label={text.sessions.title}>
        <div className="spread" role="presentation" style={{ height: virtual.getTotalSize() }}>
          {items.map(({ index, key, start }) => (
            <div key={key} role="row" aria-rowindex={index + 2} className={selection?.has(rows[index]!.session.uid) ? `${kind} selected` : kind} style={{ transform: `translateY(${start}px)` }}>
              {selection && <Select row={rows[index]!} selection={selection} />}
              <Row row={rows[index]!} />
            </div>
          ))}
        </div>
        {isReading && <p className="quiet center" role="status">{text.sessions.more}</p>}
      </div>
    </div>
  );
}

function SelectAll({ rows, selection }: { rows: SessionRow[]; selection: Selection }) {
  const count = rows.filter(({ session }) => selection.has(session.uid)).length;
  const isAll = count === rows.length;
  return (
    <span role="columnheader" className="select-all">
      <label className="select" title={text.bulk.selectAll}>
        <input
          type="checkbox"
          aria-label={text.bulk.selectAll}
          checked={isAll}
          ref={(box) => { if (box) box.indeterminate = count > 0 && !isAll; }}
          onChange={() => selection.set(rows, !isAll)}
        />
      </label>
    </span>
  );
}

function Select({ row, selection }: { row: SessionRow; selection: Selection }) {
  const { uid, ref } = row.session;
  return (
    <span role="cell" className="select-cell">
      <label className="select">
        <input type="checkbox" aria-label={text.bulk.select(ref?.sessionId ?? uid)} checked={selection.has(uid)} onChange={(event) => selection.set([row], event.target.checked)} />
      </label>
    </span>
  );
}

const Row = memo(function Row({ row: { session, latest } }: { row: SessionRow }) {
  const { ref, window, lastSeq, labels, expireTime, parent } = session;
  if (!ref) return null;
  const search = { app: ref.app, user: ref.userId, id: ref.sessionId };
  const active = window?.events ?? 0n;
  return (
    <>
      <span role="cell" className="identity">
        <Link to="/session" search={search} className="id">
          {ref.sessionId}
        </Link>
        <span className="marks">
          <span className="quiet ellipsis">{[ref.app, ref.userId].filter(Boolean).join(" / ")}</span>
          {parent && <span className="chip">{text.sessions.fork}</span>}
          {Object.entries(labels).map(([key, value]) => (
            <span key={key} className="chip">
              {value ? `${key}=${value}` : key}
            </span>
          ))}
          {expireTime && <span className="quiet small expiry">{text.sessions.expires(relative(timestampDate(expireTime)))}</span>}
        </span>
      </span>
      <span role="cell" className="latest">
        {latest && (
          <>
            <AuthorMark event={latest} />
            <span className="quiet preview">{textOf(latest).slice(0, SHOWN) || text.sessions.noText}</span>
          </>
        )}
      </span>
      <span role="cell" className="number" title={text.sessions.archived(lastSeq - active)}>
        {whole(lastSeq)}
      </span>
      <span role="cell" className="number quiet">
        {short(window?.tokens ?? 0n)}
      </span>
      <span role="cell" className="number quiet">
        <Ago time={session.updateTime} />
      </span>
    </>
  );
});
