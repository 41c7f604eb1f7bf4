// Where a memory comes from: its session, and the event in it.

import { useQuery } from "@connectrpc/connect-query";
import { Link } from "@tanstack/react-router";
import { isReason } from "@threadkeep/client";
import { EventService, type MemoryEntry } from "@threadkeep/client/v1";

import { text } from "../../text";

const words = text.memories;

export function Provenance({ entry: { scope, sessionId, eventId } }: { entry: MemoryEntry }) {
  const session = { app: scope?.app ?? "", userId: scope?.userId ?? "", sessionId };
  const { data, error } = useQuery(EventService.method.getEvent, { session, eventId }, { enabled: sessionId !== "" && eventId !== "", staleTime: Infinity, retry: false });
  if (!sessionId) return <span className="quiet small">{words.byHand}</span>;
  const search = { app: session.app, user: session.userId, id: sessionId };
  const isGone = isReason(error, "SESSION_NOT_FOUND");
  return (
    <span className="provenance">
      <span className="quiet">{words.from}</span>{" "}
      {isGone ? <span className="id">{sessionId}</span> : <Link to="/session" search={search} className="id">{sessionId}</Link>}{" "}
      {data?.event && <Link to="/session" search={{ ...search, seq: String(data.event.seq) }}>{words.seq(data.event.seq)}</Link>}
      {error && <span className="quiet small">({isGone ? words.sessionGone : isReason(error, "EVENT_NOT_FOUND") ? words.eventGone : error.message})</span>}
    </span>
  );
}
