// Fields of a form whose values are in the address.

import { useEffect, useRef, useState } from "react";

/** Milliseconds after the last key before a text is applied. */
const PAUSE = 350;

interface Props {
  label: string;
  value: string;
  hint?: string | undefined;
  apply: (value: string) => void;
  isLarge?: boolean;
}

/** A text that is applied when its writer pauses. */
export function TextField({ label, value, hint, apply, isLarge = false }: Props) {
  const [written, setWritten] = useState(value);
  const [isWriting, setIsWriting] = useState(false);
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => {
    // What somebody writes stays, also if a default arrives meanwhile, or while they are about to write.
    const isAboutTo = input.current === document.activeElement && written === "";
    if (written === value) setIsWriting(false);
    else if (!isWriting && !isAboutTo) setWritten(value);
  }, [value]);
  useEffect(() => {
    if (!isWriting || written === value) return undefined;
    const timer = setTimeout(() => apply(written), PAUSE);
    return () => clearTimeout(timer);
  });
  return (
    <label className={isLarge ? "large" : undefined}>
      {label}
      <input
        ref={input}
        type="search"
        spellCheck={false}
        autoComplete="off"
        placeholder={hint}
        value={written}
        onChange={(event) => {
          setWritten(event.target.value);
          setIsWriting(event.target.value !== value);
        }}
        onBlur={() => {
          if (!isWriting) setWritten(value);
        }}
        onKeyDown={(event) => event.key === "Enter" && apply(written)}
      />
    </label>
  );
}

/** Values of which one is chosen, by their names. */
export function Choice({ label, value, options, apply }: { label: string; value: string; options: Readonly<Record<string, string>>; apply: (value: string) => void }) {
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

/** Values of which one is chosen, as tabs. */
export function Tabs<Name extends string>({ legend, names, chosen, apply }: { legend: string; names: Readonly<Record<Name, string>>; chosen: Name; apply: (name: Name) => void }) {
  return (
    <fieldset className="tabs">
      <legend className="hidden">{legend}</legend>
      {(Object.keys(names) as Name[]).map((name) => (
        <label key={name}>
          <input type="radio" name={legend} className="hidden" checked={name === chosen} onChange={() => apply(name)} />
          {names[name]}
        </label>
      ))}
    </fieldset>
  );
}

/** Returns the values of an address with one of them set, or without it if it is empty. */
export function withValue<Values extends object>(values: Values, name: keyof Values, value: string): Values {
  const { [name]: _, ...others } = values;
  return (value === "" ? others : { ...others, [name]: value }) as Values;
}
