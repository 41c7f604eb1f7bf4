import { Link } from "@tanstack/react-router";
import { textOf, type Change } from "@threadkeep/client";

import { AuthorMark } from "../../components/author";
import { Clock } from "../../components/time";
import { text } from "../../text";

/** Characters of a message in a row. */
const SHOWN = 180;

/** Returns what a change did, in words. */
export function summaryOf({ kind }: Change): string {
  const words = text.changes;
  switch (kind.case) {
    case "batch": {
      const { events, state } = kind.value;
      const last = events.at(-1);
      return last ? textOf(last).slice(0, SHOWN) || words.noText : state ? words.state([...Object.keys(state.set), ...state.removed]) : words.noText;
    }
    case "compaction":
      return words.compaction(kind.value.compaction?.archivedEvents ?? 0n, kind.value.compaction?.strategy ?? "");
    case "sessionChange":
      return words.sessionChanges[kind.value.kind] ?? words.unknown;
    case "state":
      return words.state([...Object.keys(kind.value.set), ...kind.value.removed]);
    case "removal":
      return words.removal;
    default:
      return words.unknown;
  }
}

export function ChangeRow({ change }: { change: Change }) {
  const { session, kind, versions, changeTime } = change;
  const events = kind.case === "batch" ? kind.value.events : [];
  const last = events.at(-1);
  const name = session?.sessionId;
  return (
    <li className="change">
      <span className="quiet small"><Clock time={changeTime} /></span>
      <span className="chip" data-kind={kind.case}>{kind.case === "batch" ? text.changes.events(events.length) : text.changes.kinds[kind.case ?? ""] ?? text.changes.unknown}</span>
      <span className="whose ellipsis">
        {name && session ? (
          <Link to="/session" search={{ app: session.app, user: session.userId, id: name, ...(last ? { seq: String(last.seq) } : {}) }} className="id">{name}</Link>
        ) : (
          <span className="id">{[session?.app, session?.userId].filter(Boolean).join(" / ")}</span>
        )}
        {versions && <span className="quiet small"> {text.event.seq(versions.lastSeq)}</span>}
      </span>
      <span className="what quiet">
        {last && <AuthorMark event={last} />}
        <span className="ellipsis">{summaryOf(change)}</span>
      </span>
    </li>
  );
}
