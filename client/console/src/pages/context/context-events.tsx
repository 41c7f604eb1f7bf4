import { useNavigate } from "@tanstack/react-router";
import { useVirtualizer } from "@tanstack/react-virtual";
import type { SessionEvent } from "@threadkeep/client";
import type { SessionRef } from "@threadkeep/client/v1";
import { useMemo, useRef, useState } from "react";

import { text } from "../../text";
import { EventRow } from "../session/event-row";
import { Inspector } from "../session/inspector";
import { pairsOf } from "../session/tool-calls";

const ESTIMATE = 96;

/** The events of a context in the order in which the agent receives them. */
export function ContextEvents({ events, session }: { events: readonly SessionEvent[]; session: SessionRef }) {
  const scroller = useRef<HTMLDivElement>(null);
  const [inspected, setInspected] = useState<SessionEvent>();
  const navigate = useNavigate();
  const virtual = useVirtualizer({
    count: events.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ESTIMATE,
    getItemKey: (index) => events[index]!.eventId,
    overscan: 6,
    paddingEnd: 24,
  });
  const pairs = useMemo(() => pairsOf([new Map(events.map((event, at) => [at, event]))]), [events]);
  const open = (seq: number) => void navigate({ to: "/session", search: { app: session.app, user: session.userId, id: session.sessionId, seq: String(seq) } });
  return (
    <div className="scroller" ref={scroller} tabIndex={0} role="feed" aria-label={text.context.events}>
      <div className="spread" style={{ height: virtual.getTotalSize() }}>
        {virtual.getVirtualItems().map(({ index, key, start }) => {
          const event = events[index]!;
          return (
            <div key={key} ref={virtual.measureElement} data-index={index} className="slot" style={{ transform: `translateY(${start}px)` }}>
              <EventRow seq={Number(event.seq)} event={event} pairs={pairs} isMarked={false} goTo={open} inspect={setInspected} />
            </div>
          );
        })}
      </div>
      {inspected && <Inspector event={inspected} session={session} close={() => setInspected(undefined)} />}
    </div>
  );
}
