// What a page shows while it has nothing to show: it loads, is empty, or has failed.

import { ThreadkeepError } from "@threadkeep/client";
import type { ReactNode } from "react";

import type { EndingKind } from "../api/use-ending";
import { adviceFor, text } from "../text";

export function Loading({ label = text.states.loading }: { label?: string }) {
  return (
    <p className="notice quiet" role="status">
      <span className="spinner" aria-hidden="true" />
      {label}
    </p>
  );
}

export function Empty({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className="notice">
      <h2>{title}</h2>
      {children}
    </div>
  );
}

/** The server's reason, its message, and what to do. */
export function Failure({ error, retry }: { error: Error; retry?: (() => void) | undefined }) {
  const reason = error instanceof ThreadkeepError ? error.reason : "";
  const message = error instanceof ThreadkeepError ? error.rawMessage : error.message;
  const id = error instanceof ThreadkeepError ? error.requestId : "";
  const advice = adviceFor(error);
  return (
    <div className="notice failed" role="alert">
      <h2>{text.states.failed}</h2>
      <p>
        {reason && <code>{reason}</code>} {message}
      </p>
      {advice && <p className="quiet">{advice}</p>}
      {id && <p className="quiet">{text.states.request(id)}</p>}
      {retry && (
        <button type="button" onClick={retry}>
          {text.states.retry}
        </button>
      )}
    </div>
  );
}

/** Says how the session ended that a page is about, while it was open. */
export function Ending({ ending }: { ending: EndingKind | undefined }) {
  return ending && <p className="notice failed" role="alert">{ending === "deleted" ? text.session.gone : text.session.moved}</p>;
}

export function NotFound() {
  return <Empty title={text.states.noPage} />;
}

/** A command to copy into a shell. */
export function Command({ children }: { children: string }) {
  return (
    <pre className="command" tabIndex={0}>
      <code>{children}</code>
    </pre>
  );
}
