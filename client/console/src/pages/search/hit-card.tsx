// One hit: where it is, what matches, and why it ranks there.

import { Link } from "@tanstack/react-router";
import { textOf, type SessionEvent } from "@threadkeep/client";
import type { SearchHit } from "@threadkeep/client/v1";

import { AuthorMark } from "../../components/author";
import { Excerpt, matches, shownField } from "../../components/highlighted";
import { Ago } from "../../components/time";
import { text } from "../../text";
import { MODE_NAMES, type ModeName } from "./use-hits";

/** Characters of a neighbor. */
const SHOWN = 160;

interface Props {
  hit: SearchHit;
  place: number;
  mode: ModeName;
  places: ReadonlyMap<ModeName, number> | undefined;
}

export function HitCard({ hit, place, mode, places }: Props) {
  const { session, event, highlights, before, after } = hit;
  if (!session || !event) return null;
  const address = { app: session.app, user: session.userId, id: session.sessionId, seq: String(event.seq) };
  return (
    <li className="hit">
      <header>
        <span className="place number">{place}</span>
        <AuthorMark event={event} />
        <Link to="/session" search={address} className="id ellipsis" title={`${session.app} / ${session.userId} / ${session.sessionId}`}>
          {session.sessionId} <span className="quiet">{text.event.seq(event.seq)}</span>
        </Link>
        <span className="quiet small end">
          <Ago time={event.eventTime ?? event.recordTime} />
        </span>
      </header>
      <Excerpt message={event.message} highlights={highlights} />
      <Why hit={hit} mode={mode} places={places} />
      {before.length + after.length > 0 && (
        <details className="part">
          <summary>{text.search.neighbors}</summary>
          <ol className="neighbors">
            {before.map((each) => <Neighbor key={String(each.seq)} event={each} />)}
            <li className="here">{text.search.here}</li>
            {after.map((each) => <Neighbor key={String(each.seq)} event={each} />)}
          </ol>
        </details>
      )}
    </li>
  );
}

function Neighbor({ event }: { event: SessionEvent }) {
  const written = textOf(event);
  return (
    <li>
      <AuthorMark event={event} />
      <span>{written.length > SHOWN ? `${written.slice(0, SHOWN)}…` : written || text.sessions.noText}</span>
    </li>
  );
}

/** The score, the words that match, the field, and the places of the same event in other modes. */
function Why({ hit, mode, places }: Omit<Props, "place">) {
  const words = matches(hit.event?.message, hit.highlights);
  const field = text.search.fields[shownField(hit.event?.message, hit.highlights)];
  const others = MODE_NAMES.filter((name) => name !== mode && places?.has(name));
  return (
    <div className="why">
      {mode !== "literal" && (
        <span className="score" title={text.search.scores[mode]}>
          <meter min={0} max={1} value={Math.max(0, hit.score)} aria-label={text.search.score} />
          <span className="number">{hit.score.toFixed(2)}</span>
        </span>
      )}
      {words.slice(0, 6).map((word) => (
        <span key={word} className="chip">{word}</span>
      ))}
      {words.length === 0 && mode !== "literal" && <span className="chip faint" title={text.search.noWordHint}>{mode === "ranked" ? text.search.adjacent : text.search.byMeaning}</span>}
      {field && <span className="chip faint">{field}</span>}
      {hit.event?.synthetic && <span className="chip faint">{text.event.synthetic}</span>}
      {others.length > 0 && (
        <span className="quiet small">{others.map((name) => text.search.alsoAt(text.search.modes[name], places!.get(name)!)).join(" · ")}</span>
      )}
    </div>
  );
}
