import { useEffect, useState } from "react";

import { text } from "../../text";
import type { SessionFilters } from "./use-sessions";

/** Milliseconds after the last key before the list is read again. */
const PAUSE = 300;

interface Props {
  filters: SessionFilters;
  apply: (filters: SessionFilters) => void;
}

/** A text that is applied when its writer pauses. */
function TextFilter({ label, value, hint, apply }: { label: string; value: string; hint?: string; apply: (value: string) => void }) {
  const [written, setWritten] = useState(value);
  useEffect(() => setWritten(value), [value]);
  useEffect(() => {
    if (written === value) return undefined;
    const timer = setTimeout(() => apply(written), PAUSE);
    return () => clearTimeout(timer);
  });
  return (
    <label>
      {label}
      <input type="search" spellCheck={false} autoComplete="off" placeholder={hint} value={written} onChange={(event) => setWritten(event.target.value)} />
    </label>
  );
}

function Choice({ label, value, options, apply }: { label: string; value: string; options: Record<string, string>; apply: (value: string) => void }) {
  return (
    <label>
      {label}
      <select value={value} onChange={(event) => apply(event.target.value)}>
        {Object.entries(options).map(([key, name]) => (
          <option key={key} value={key}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}

export function Filters({ filters, apply }: Props) {
  const set = (name: keyof SessionFilters) => (value: string) => {
    const { [name]: _, ...others } = filters;
    apply(value === "" ? others : { ...others, [name]: value });
  };
  const { app = "", user = "", prefix = "", label = "", since = "", order = "" } = filters;
  return (
    <form className="filters" role="search" aria-label={text.sessions.filters} onSubmit={(event) => event.preventDefault()}>
      <TextFilter label={text.sessions.app} value={app} apply={set("app")} />
      <TextFilter label={text.sessions.user} value={user} apply={set("user")} />
      <TextFilter label={text.sessions.prefix} value={prefix} apply={set("prefix")} />
      <TextFilter label={text.sessions.label} value={label} hint={text.sessions.labelHint} apply={set("label")} />
      <Choice label={text.sessions.since} value={since} options={text.sessions.sinces} apply={set("since")} />
      <Choice label={text.sessions.order} value={order} options={text.sessions.orders} apply={set("order")} />
      {Object.keys(filters).length > 0 && (
        <button type="button" className="plain" onClick={() => apply({})}>
          {text.sessions.clear}
        </button>
      )}
    </form>
  );
}
