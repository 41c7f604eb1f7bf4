import { Link } from "@tanstack/react-router";
import type { Change } from "@threadkeep/client";
import type { Session, WindowCounters } from "@threadkeep/client/v1";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";

import { useConnection } from "../../api/connection";
import { LiveMark } from "../../components/live";
import { SessionHead } from "../../components/session-head";
import { Command, Empty, Ending, Failure } from "../../components/states";
import { firstEvent, text } from "../../text";
import { Timeline } from "./timeline";
import { compactionsQuery, firstPages } from "./opening";
import { useLog } from "./use-log";

interface Props {
  session: Session;
  /** Seq to begin at, as in the address. */
  seq: string | undefined;
}

export function SessionView({ session, seq }: Props) {
  const ref = session.ref!;
  const opened = Number(session.lastSeq);
  const [visible, setVisible] = useState(() => firstPages(opened, seq).join(" "));
  const [window, setWindow] = useState<WindowCounters | undefined>(session.window);
  const compactions = useQuery(compactionsQuery(useConnection(), ref));
  const log = useLog(ref, opened, visible, ({ versions, kind }: Change) => {
    if (versions?.window) setWindow(versions.window);
    if (kind.case === "compaction") void compactions.refetch();
  });
  return (
    <>
      <SessionHead session={ref}>
        <span className="quiet">{text.session.events(BigInt(log.lastSeq))}</span>
        {window && <span className="quiet">{text.session.window(window.events, window.tokens)}</span>}
        <LiveMark watched={log.watched} />
      </SessionHead>
      {(session.parent || Object.keys(session.labels).length > 0) && (
        <p className="marks">
          {session.parent?.session && (
            <span className="chip">
              {text.session.forkOf}{" "}
              <Link to="/session" search={{ app: ref.app, user: session.parent.session.userId || ref.userId, id: session.parent.session.sessionId, seq: String(session.parent.atSeq) }}>
                {session.parent.session.sessionId}
              </Link>
            </span>
          )}
          {Object.entries(session.labels).map(([key, value]) => (
            <span key={key} className="chip">{value ? `${key}=${value}` : key}</span>
          ))}
        </p>
      )}
      <Ending ending={log.ending} />
      {log.error && <Failure error={log.error} retry={log.retry} />}
      {log.lastSeq === 0 ? (
        <Empty title={text.session.emptyTitle}>
          <p>{text.session.emptyHint}</p>
          <Command>{firstEvent(ref.app, ref.userId, ref.sessionId)}</Command>
        </Empty>
      ) : (
        <Timeline log={log} session={ref} compactions={compactions.data?.compactions ?? NONE} seq={seq} show={setVisible} />
      )}
    </>
  );
}

const NONE: never[] = [];
