import type { SessionEvent } from "@threadkeep/client";
import type { SessionRef } from "@threadkeep/client/v1";
import { useEffect, useRef, useState } from "react";

import { Icon } from "../../components/icons";
import { text } from "../../text";
import { forms, nativeOf } from "./copy-as";

/** Milliseconds for which "Copied" is shown. */
const SHOWN = 1_500;

/** One event as the server has it, in its native form, and in the forms of others. */
export function Inspector({ event, session, close }: { event: SessionEvent; session: SessionRef; close: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [chosen, setChosen] = useState("JSON");
  const [isCopied, setCopied] = useState(false);
  useEffect(() => dialog.current?.showModal(), []);
  useEffect(() => {
    if (!isCopied) return undefined;
    const timer = setTimeout(() => setCopied(false), SHOWN);
    return () => clearTimeout(timer);
  }, [isCopied]);
  const native = nativeOf(event);
  const names = [...forms.map(({ name }) => name), ...(native ? [text.inspector.native] : [])];
  const shown = forms.find(({ name }) => name === chosen)?.make(event, session) ?? native?.text ?? "";
  return (
    <dialog ref={dialog} className="inspector" aria-labelledby="inspector-title" onClose={close} onClick={(click) => click.target === dialog.current && close()}>
      <header>
        <h2 id="inspector-title">{text.inspector.title(event.seq)}</h2>
        <button type="button" className="plain" onClick={close} aria-label={text.inspector.close}>
          <Icon name="cross" />
        </button>
      </header>
      <fieldset className="tabs">
        <legend className="hidden">{text.inspector.form}</legend>
        {names.map((name) => (
          <label key={name}>
            <input type="radio" name="form" className="hidden" checked={name === chosen} onChange={() => setChosen(name)} />
            {name}
          </label>
        ))}
      </fieldset>
      {chosen === text.inspector.native && native && <p className="quiet small">{text.event.native(native.format)}</p>}
      <pre className="text" tabIndex={0}>{shown}</pre>
      <footer>
        <button type="button" className="primary" onClick={() => void navigator.clipboard.writeText(shown).then(() => setCopied(true))}>
          <Icon name="copy" />
          {isCopied ? text.event.copied : text.inspector.copy}
        </button>
      </footer>
    </dialog>
  );
}
