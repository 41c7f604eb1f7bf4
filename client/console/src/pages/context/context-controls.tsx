import { EventService, Role, BranchMatch, SortOrder } from "@threadkeep/client/v1";
import { useEffect, useState } from "react";

import { useClient } from "../../api/connection";
import { text } from "../../text";
import type { ContextSearch } from "./spec";

interface Props {
  search: ContextSearch;
  lastSeq: number;
  apply: (search: ContextSearch) => void;
}

/** Milliseconds after which a moved slider is applied. */
const PAUSE = 150;
const SLIDERS = [
  { name: "turns", most: 50, step: 1 },
  { name: "events", most: 500, step: 5 },
  { name: "tokens", most: 32_000, step: 250 },
] as const;

export function ContextControls({ search, lastSeq, apply }: Props) {
  const set = (name: keyof ContextSearch) => (value: string) => {
    const { [name]: _, ...others } = search;
    apply(value === "" ? others : { ...others, [name]: value });
  };
  return (
    <form className="controls" onSubmit={(event) => event.preventDefault()}>
      <AsOf at={search.at} lastSeq={lastSeq} set={set("at")} search={search} />
      {SLIDERS.map(({ name, most, step }) => (
        <Slider key={name} label={text.context.sliders[name]} value={search[name]} least={0} most={most} step={step} none={text.context.noLimit} set={set(name)} />
      ))}
      <Words label={text.context.branch} value={search.branch ?? ""} hint={text.context.branchHint} set={set("branch")} />
      <Words label={text.context.without} value={search.without ?? ""} hint={text.context.withoutHint} set={set("without")} />
    </form>
  );
}

/** A slider whose lowest value means that there is no limit. */
function Slider(props: { label: string; value: string | undefined; least: number; most: number; step: number; none: string; set: (value: string) => void }) {
  const { label, value, least, most, step, none, set } = props;
  const [moved, setMoved] = useState(value ?? String(least));
  useEffect(() => setMoved(value ?? String(least)), [value, least]);
  useEffect(() => {
    const next = moved === String(least) ? "" : moved;
    if (next === (value ?? "")) return undefined;
    const timer = setTimeout(() => set(next), PAUSE);
    return () => clearTimeout(timer);
  });
  return (
    <label className="slider">
      <span>
        {label} <b>{moved === String(least) ? none : Number(moved).toLocaleString("en")}</b>
      </span>
      <input type="range" min={least} max={most} step={step} value={moved} onChange={(event) => setMoved(event.target.value)} />
    </label>
  );
}

function Words({ label, value, hint, set }: { label: string; value: string; hint: string; set: (value: string) => void }) {
  return (
    <label>
      {label}
      <input key={value} defaultValue={value} placeholder={hint} spellCheck={false} onBlur={(event) => set(event.target.value.trim())} onKeyDown={(event) => event.key === "Enter" && set(event.currentTarget.value.trim())} />
    </label>
  );
}

/** The moment of the context: a seq, the start of the turn before or after it, or now. */
function AsOf({ at, lastSeq, set, search }: { at: string | undefined; lastSeq: number; set: (value: string) => void; search: ContextSearch }) {
  const client = useClient();
  const seq = Math.min(Number(at) || lastSeq, lastSeq);
  const [moved, setMoved] = useState(seq);
  useEffect(() => setMoved(seq), [seq]);
  const choose = (next: number) => set(next >= lastSeq ? "" : String(Math.max(1, next)));
  useEffect(() => {
    if (moved === seq) return undefined;
    const timer = setTimeout(() => choose(moved), PAUSE);
    return () => clearTimeout(timer);
  });
  /** Steps to the user's message that begins the turn before or after. */
  const step = async (isBack: boolean) => {
    const { app = "", user = "", id = "" } = search;
    const range = isBack ? { beforeSeq: BigInt(seq) } : { afterSeq: BigInt(seq) };
    const filter = { roles: [Role.USER], excludeSynthetic: true, branchMatch: BranchMatch.EXACT, ...range };
    const order = isBack ? SortOrder.DESCENDING : SortOrder.ASCENDING;
    const { events } = await client.raw(EventService).listEvents({ session: { app, userId: user, sessionId: id }, filter, order, pageSize: 1 });
    choose(Number(events[0]?.seq ?? (isBack ? 1 : lastSeq)));
  };
  return (
    <div className="as-of">
      <label className="slider">
        <span>
          {text.context.asOf} <b>{moved >= lastSeq ? text.context.now : `#${moved.toLocaleString("en")}`}</b>
        </span>
        <input type="range" min={1} max={Math.max(1, lastSeq)} value={moved} disabled={lastSeq < 2} onChange={(event) => setMoved(Number(event.target.value))} />
      </label>
      <div className="buttons">
        <button type="button" disabled={seq <= 1} onClick={() => void step(true)}>{text.context.earlier}</button>
        <button type="button" disabled={seq >= lastSeq} onClick={() => void step(false)}>{text.context.later}</button>
        <button type="button" disabled={at === undefined} onClick={() => set("")}>{text.context.now}</button>
      </div>
    </div>
  );
}
