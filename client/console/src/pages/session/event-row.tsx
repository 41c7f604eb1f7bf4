import { type SessionEvent } from "@threadkeep/client";
import { memo, type CSSProperties } from "react";

import { AuthorMark, colorOf, roleOf } from "../../components/author";
import { Icon } from "../../components/icons";
import { Clock } from "../../components/time";
import { text } from "../../text";
import { PartView } from "./parts";
import type { ToolPairs } from "./tool-calls";

interface Props {
  seq: number;
  event: SessionEvent | undefined;
  pairs: ToolPairs;
  isMarked: boolean;
  goTo: (seq: number) => void;
  inspect: (event: SessionEvent) => void;
}

/** Whether the event starts a turn: see WindowCounters.turns of the API. */
const startsTurn = (event: SessionEvent) => roleOf(event) === "user" && !event.synthetic && event.branch === "";

export const EventRow = memo(function EventRow({ seq, event, pairs, isMarked, goTo, inspect }: Props) {
  if (!event) {
    return (
      <article className="event pending" aria-busy="true">
        <span className="quiet">{text.event.seq(BigInt(seq))}</span>
        <span className="hidden">{text.event.loading}</span>
      </article>
    );
  }
  const role = roleOf(event);
  const parts = event.message?.parts ?? [];
  const states = [event.archived && "archived", event.synthetic && "synthetic", startsTurn(event) && "turn", isMarked && "marked", event.branch && "lane"];
  return (
    <article className={["event", role, ...states].filter(Boolean).join(" ")} data-seq={seq} aria-labelledby={`event-${seq}`} aria-posinset={seq}>
      <div className="gutter">
        <AuthorMark event={event} />
      </div>
      <div className="content" data-color={colorOf(event)} style={laneOf(event.branch)}>
        <header id={`event-${seq}`}>
          <span className="name" data-color={colorOf(event)}>{event.author || text.event.roles[role]}</span>
          {event.author && <span className="quiet">{event.authorRole || text.event.roles[role]}</span>}
          {event.branch && <span className="chip" title={text.event.branch}>{event.branch}</span>}
          {event.synthetic && <span className="chip" title={text.event.syntheticHint(event.compactionSource)}>{text.event.synthetic}</span>}
          {event.archived && !event.erased && <span className="chip faint" title={text.event.archivedHint}>{text.event.archived}</span>}
          <span className="end quiet">
            <Clock time={event.eventTime ?? event.recordTime} />
            <a href={`?${addressOf(seq)}`} className="seq" onClick={(click) => { click.preventDefault(); goTo(seq); }}>
              {text.event.seq(event.seq)}
            </a>
            <button type="button" className="plain tiny" aria-label={text.inspector.open(seq)} title={text.inspector.open(seq)} onClick={() => inspect(event)}>
              <Icon name="more" />
            </button>
          </span>
        </header>
        {event.erased && <p className="quiet">{text.event.erased}</p>}
        {parts.map((part, at) => (
          <PartView key={at} part={part} event={event} pairs={pairs} goTo={goTo} />
        ))}
        {!event.erased && parts.length === 0 && <p className="quiet">{event.native ? text.event.native(event.native.format) : text.event.empty}</p>}
      </div>
    </article>
  );
});

/** Segments of a branch that still move its lane. */
const MOST_LANES = 6;

/** Returns the lane of a branch: one for each segment of its path. */
const laneOf = (branch: string): CSSProperties => ({ "--lane": branch ? Math.min(MOST_LANES, branch.split(".").length) : 0 }) as CSSProperties;

/** Returns the query of the page with another seq. */
function addressOf(seq: number): string {
  const query = new URLSearchParams(location.search);
  query.set("seq", String(seq));
  return query.toString();
}
