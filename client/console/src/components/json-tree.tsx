// JSON as a tree that folds, or as the text that it is if it is not JSON.

import { useMemo, useState, type ReactNode } from "react";

import { whole } from "./numbers";

/** Entries of an object or array that are shown at first. */
const MOST = 100;
/** Depth to which a tree is open at first. */
const OPEN = 2;

function parsed(json: string): { value: unknown } | undefined {
  try {
    const value: unknown = JSON.parse(json);
    return typeof value === "object" && value !== null ? { value } : undefined;
  } catch {
    return undefined;
  }
}

export function JsonText({ json }: { json: string }) {
  const read = useMemo(() => parsed(json), [json]);
  if (json === "" || json === "{}") return null;
  if (!read) return <pre className="text">{json}</pre>;
  return (
    <div className="json">
      <Node value={read.value} depth={0} />
    </div>
  );
}

function Node({ name, value, depth }: { name?: string; value: unknown; depth: number }) {
  if (typeof value !== "object" || value === null) {
    return (
      <div className="leaf">
        {name !== undefined && <Key name={name} />}
        <Scalar value={value} />
      </div>
    );
  }
  return <Branch {...(name === undefined ? {} : { name })} value={value} depth={depth} />;
}

function Branch({ name, value, depth }: { name?: string; value: object; depth: number }) {
  const entries = Object.entries(value);
  const [most, setMost] = useState(MOST);
  const [isOpen, setOpen] = useState(depth < OPEN);
  const [left, right] = Array.isArray(value) ? "[]" : "{}";
  if (entries.length === 0) {
    return (
      <div className="leaf">
        {name !== undefined && <Key name={name} />}
        <span className="quiet">{left}{right}</span>
      </div>
    );
  }
  const children = (): ReactNode => (
    <>
      {entries.slice(0, most).map(([key, each]) => (
        <Node key={key} name={key} value={each} depth={depth + 1} />
      ))}
      {entries.length > most && (
        <button type="button" className="link" onClick={() => setMost(most * 10)}>
          {`+${whole(entries.length - most)}`}
        </button>
      )}
    </>
  );
  if (depth === 0) return <div className="root">{children()}</div>;
  return (
    <details open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        {name !== undefined && <Key name={name} />}
        <span className="quiet">
          {left}{isOpen ? "" : `${whole(entries.length)}${right}`}
        </span>
      </summary>
      {isOpen && <div className="children">{children()}</div>}
    </details>
  );
}

const Key = ({ name }: { name: string }) => <span className="key">{name}: </span>;

function Scalar({ value }: { value: unknown }) {
  if (typeof value === "string") return <span className="string">{value}</span>;
  return <span className={value === null ? "quiet" : "number-value"}>{String(value)}</span>;
}
