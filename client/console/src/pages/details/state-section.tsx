// The state of a session: its values, and how each came to be.

import { useQuery } from "@connectrpc/connect-query";
import { Link } from "@tanstack/react-router";
import { isReason, type Change } from "@threadkeep/client";
import { StateScope, StateService, type Session, type SessionRef } from "@threadkeep/client/v1";
import { useState } from "react";

import { useSessionChanges } from "../../api/use-ending";
import { LiveMark } from "../../components/live";
import { Failure } from "../../components/states";
import { exact, relative } from "../../components/time";
import { text } from "../../text";
import { Section } from "./section";
import { useStateHistory, type Entry, type Value } from "./use-state-history";

const words = text.state;

/** Events up to which the history is read at once: reading it reads the log. */
const SHORT = 2_000n;
/** Changes that are shown at first, and characters of a value. */
const SHOWN = 50;
const LONGEST = 200;
/** Characters of a value under the pointer: a value may have megabytes, and each of its changes has it twice. */
const LONGEST_HINT = 2_000;

const cut = (json: string, most = LONGEST) => (json.length > most ? `${json.slice(0, most)}…` : json);

/** `seen` is called with each change of the session. */
export function StateSection({ session, seen }: { session: Session; seen: (change: Change) => void }) {
  const ref = session.ref!;
  const { data, error, refetch } = useQuery(StateService.method.getState, { scope: StateScope.SESSION, session: ref }, { staleTime: 0 });
  const values = Object.entries(data?.state?.values ?? {});
  const version = data?.state?.version ?? 0n;
  useSessionChanges(ref, data !== undefined && version === 0n, seen); // else the history follows the session
  return (
    <Section title={words.title(version)}>
      {error && <Failure error={error} />}
      {data && values.length === 0 && <p className="quiet">{words.none}</p>}
      {values.length > 0 && (
        <table className="plain-table state">
          <tbody>
            {values.map(([key, json]) => (
              <tr key={key}>
                <th scope="row"><code>{key}</code></th>
                <td><code title={cut(json, LONGEST_HINT)}>{cut(json)}</code></td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {version > 0n && <History seen={seen} session={ref} isShort={session.lastSeq <= SHORT} changed={() => void refetch()} />}
    </Section>
  );
}

function History({ session, isShort, changed, seen }: { session: SessionRef; isShort: boolean; changed: () => void; seen: (change: Change) => void }) {
  const [isOn, setOn] = useState(isShort);
  const [most, setMost] = useState(SHOWN);
  const [chosen, setChosen] = useState("");
  const { entries, watched } = useStateHistory(session, isOn, changed, seen);
  if (!isOn) return <button type="button" onClick={() => setOn(true)}>{words.read}</button>;
  const keys = [...new Set(entries.map(({ key }) => key).filter(Boolean))].sort();
  const shown = entries.filter(({ key }) => chosen === "" || key === chosen).reverse();
  return (
    <div className="state-history">
      <header>
        <h3>{words.history}</h3>
        {keys.length > 1 && (
          <label className="inline">
            {words.key}
            <select value={chosen} onChange={(event) => setChosen(event.target.value)}>
              <option value="">{words.allKeys}</option>
              {keys.map((key) => <option key={key} value={key}>{key}</option>)}
            </select>
          </label>
        )}
        <LiveMark watched={watched} />
      </header>
      {watched.error && (isReason(watched.error, "RESUME_POSITION_EXPIRED") ? <p className="quiet">{words.trimmed}</p> : <Failure error={watched.error} />)}
      <table className="plain-table">
        <thead>
          <tr>
            <th scope="col">{words.when}</th>
            <th scope="col">{words.event}</th>
            <th scope="col">{words.key}</th>
            <th scope="col">{words.change}</th>
          </tr>
        </thead>
        <tbody>{shown.slice(0, most).map((entry) => <Row key={entry.number} entry={entry} session={session} />)}</tbody>
      </table>
      {shown.length > most && <button type="button" className="link" onClick={() => setMost(most * 10)}>{words.more(shown.length - most)}</button>}
    </div>
  );
}

function Row({ entry: { time, seq, key, from, to, version }, session }: { entry: Entry; session: SessionRef }) {
  return (
    <tr>
      <td className="quiet">{time && <time dateTime={time.toISOString()} title={exact(time)}>{relative(time)}</time>}</td>
      <td>
        {seq === undefined ? (
          <span className="quiet" title={words.patchHint}>{words.patch(version)}</span>
        ) : (
          <Link to="/session" search={{ app: session.app, user: session.userId, id: session.sessionId, seq: String(seq) }}>{text.event.seq(seq)}</Link>
        )}
      </td>
      <td>{key ? <code>{key}</code> : <span className="quiet">{words.omitted}</span>}</td>
      <td>{key && <><Shown value={from} isOld /> <span className="quiet" aria-label={words.becomes}>→</span> <Shown value={to} isOld={false} /></>}</td>
    </tr>
  );
}

function Shown({ value, isOld }: { value: Value; isOld: boolean }) {
  if (value.kind === "json") return <code className={isOld ? "quiet" : undefined} title={cut(value.json, LONGEST_HINT)}>{cut(value.json)}</code>;
  return <span className="quiet">{value.kind === "none" ? words.unset : words.unknown}</span>;
}
