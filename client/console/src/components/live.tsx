import type { Watched } from "../api/watching";
import { text } from "../text";

/** Whether changes arrive, in a word, with the reason where they do not. */
export function LiveMark({ watched: { state, error } }: { watched: Watched }) {
  return (
    <span className="live" data-state={state} role="status" title={error?.message ?? text.live.hints[state]}>
      {text.live[state]}
    </span>
  );
}
