import { useState, type ReactNode } from "react";

import { text as words } from "../text";

/** Characters that are shown at first. */
const SHOWN = 4_000;

/** Shows the beginning of a long text, and all of it on request. */
export function LongText({ text, render }: { text: string; render: (shown: string) => ReactNode }) {
  const [isWhole, setWhole] = useState(false);
  if (text.length <= SHOWN) return render(text);
  return (
    <>
      {render(isWhole ? text : `${text.slice(0, SHOWN)}…`)}
      <button type="button" className="link" aria-expanded={isWhole} onClick={() => setWhole(!isWhole)}>
        {isWhole ? words.event.showLess : words.event.showAll(text.length)}
      </button>
    </>
  );
}
