import { useState } from "react";

import { LiveMark } from "../../components/live";
import { Command, Empty } from "../../components/states";
import { firstEvent, text } from "../../text";
import { ChangeRow } from "./change-row";
import { useFeed } from "./use-feed";

/** Changes as they are committed, newest first. */
export function Feed({ app, user }: { app: string | undefined; user: string }) {
  const [isPaused, setPaused] = useState(false);
  const { changes, waiting, watched } = useFeed(app, user, isPaused);
  return (
    <div className="feed">
      <div className="toolbar">
        <LiveMark watched={watched} />
        <label className="switch">
          <input type="checkbox" role="switch" checked={isPaused} onChange={(event) => setPaused(event.target.checked)} />
          {waiting > 0 ? text.changes.waiting(waiting) : text.changes.pause}
        </label>
      </div>
      {changes.length === 0 ? (
        <Empty title={text.changes.emptyTitle}>
          <p>{text.changes.emptyHint}</p>
          <Command>{firstEvent(app || "shop", user || "alice")}</Command>
        </Empty>
      ) : (
        <ol className="scroller" tabIndex={0} aria-label={text.changes.feed}>
          {changes.map(({ number, change }) => <ChangeRow key={number} change={change} />)}
        </ol>
      )}
    </div>
  );
}
