import { useMutation } from "@connectrpc/connect-query";
import { CompactionService, type CompactionPlan, type SessionRef } from "@threadkeep/client/v1";
import { useState } from "react";

import { AccessRole, useMay } from "../../api/caller";
import { whole } from "../../components/numbers";
import { Failure } from "../../components/states";
import { text } from "../../text";

type Kind = keyof typeof text.context.strategies;

const KINDS = Object.keys(text.context.strategies) as Kind[];
const FIRST: Readonly<Record<Kind, number>> = { turnWindow: 10, slidingWindow: 20, tokenBudget: 4000, trimToolResults: 1, recursiveSummary: 10 };

/** Returns the strategy with its one number. */
function strategyOf(kind: Kind, limit: number) {
  switch (kind) {
    case "turnWindow":
      return { kind: { case: kind, value: { maxTurns: limit } } } as const;
    case "slidingWindow":
      return { kind: { case: kind, value: { maxEvents: limit } } } as const;
    case "tokenBudget":
      return { kind: { case: kind, value: { maxTokens: BigInt(limit) } } } as const;
    case "trimToolResults":
      return { kind: { case: kind, value: { keepTurns: limit } } } as const;
    case "recursiveSummary":
      return { kind: { case: kind, value: { maxEventsToKeep: limit } } } as const;
  }
}

/** What a strategy would archive, and the button that applies it; nothing for a credential that may not compact. */
export function Compact(props: Props) {
  return useMay(AccessRole.COMPACTOR) && <Form {...props} />;
}

interface Props {
  session: SessionRef;
  done: () => void;
}

function Form({ session, done }: Props) {
  const [kind, setKind] = useState<Kind>("turnWindow");
  const [limit, setLimit] = useState(FIRST.turnWindow);
  const run = useMutation(CompactionService.method.compactSession);
  const request = (dryRun: boolean) => ({ session, strategy: strategyOf(kind, limit), dryRun, actor: "console" });
  const change = (next: Kind, value: number) => {
    run.reset();
    setKind(next);
    setLimit(value);
  };
  const applied = run.data?.compacted;
  return (
    <form className="compact" onSubmit={(event) => { event.preventDefault(); run.mutate(request(true)); }}>
      <h2>{text.context.compact}</h2>
      <div className="pair">
        <label>
          {text.context.strategy}
          <select value={kind} onChange={(event) => change(event.target.value as Kind, FIRST[event.target.value as Kind])}>
            {KINDS.map((each) => (
              <option key={each} value={each}>{text.context.strategies[each]}</option>
            ))}
          </select>
        </label>
        <label>
          {text.context.limits[kind]}
          <input type="number" min={1} max={1_000_000} value={limit} onChange={(event) => change(kind, Math.max(1, Number(event.target.value)))} />
        </label>
      </div>
      <div className="buttons">
        <button type="submit" disabled={run.isPending}>{text.context.dryRun}</button>
        {run.data?.plan && !applied && run.data.plan.archiveEventIds.length > 0 && (
          <button type="button" className="primary" disabled={run.isPending} onClick={() => run.mutate(request(false), { onSuccess: done })}>
            {text.context.apply}
          </button>
        )}
      </div>
      {run.error && <Failure error={run.error} />}
      {run.data?.plan && <Outcome plan={run.data.plan} isApplied={applied === true} />}
    </form>
  );
}

function Outcome({ plan, isApplied }: { plan: CompactionPlan; isApplied: boolean }) {
  const count = plan.archiveEventIds.length;
  if (count === 0 && !isApplied) return <p className="quiet" role="status">{text.context.nothing}</p>;
  const rows = (["events", "turns", "tokens"] as const).map((name) => [text.context.counters[name], plan.before?.[name] ?? 0n, plan.after?.[name] ?? 0n] as const);
  return (
    <div role="status">
      <p>{isApplied ? text.context.applied(count) : text.context.would(count)}</p>
      <table className="plain-table">
        <thead>
          <tr><td /><th className="number">{text.context.before}</th><th className="number">{text.context.after}</th></tr>
        </thead>
        <tbody>
          {rows.map(([name, before, after]) => (
            <tr key={name}><th scope="row">{name}</th><td className="number">{whole(before)}</td><td className="number">{whole(after)}</td></tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
