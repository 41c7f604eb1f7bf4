// The audit log of the server: who called what, newest first. For the role admin, of what its credential reaches.

import { isReason } from "@threadkeep/client";
import type { AuditRecord } from "@threadkeep/client/v1";

import { AccessRole, useMay } from "../../api/caller";
import { Choice, TextField, withValue } from "../../components/field";
import { Command, Failure, Loading } from "../../components/states";
import { Ago, duration } from "../../components/time";
import { text } from "../../text";
import { useAudit, type AuditFilters } from "./use-audit";

const words = text.access;

interface Props {
  filters: AuditFilters;
  apply: (filters: AuditFilters) => void;
}

export function AuditLog({ filters, apply }: Props) {
  const may = useMay(AccessRole.ADMIN);
  return (
    <section className="section audit" aria-labelledby="audit">
      <h2 id="audit">{words.audit}</h2>
      {may ? <Records filters={filters} apply={apply} /> : <p className="quiet">{words.auditRole}</p>}
    </section>
  );
}

function Records({ filters, apply }: Props) {
  const { records, error, isFetching, hasMore, more, refetch } = useAudit(filters, true);
  if (isReason(error, "AUDIT_LOG_UNAVAILABLE") && !records) {
    return (
      <>
        <p className="quiet">{words.auditOff}</p>
        <Command>{words.auditSetting}</Command>
      </>
    );
  }
  const set = (name: keyof AuditFilters) => (value: string) => apply(withValue(filters, name, value));
  const { method = "", caller = "", session = "", outcome = "", since = "" } = filters;
  return (
    <>
      <p className="quiet small">{words.auditHint}</p>
      <form className="filters audit-filters" role="search" aria-label={words.audit} onSubmit={(event) => event.preventDefault()}>
        <TextField label={words.method} value={method} hint="DeleteSession" apply={set("method")} />
        <TextField label={words.caller} value={caller} apply={set("caller")} />
        <TextField label={words.session} value={session} apply={set("session")} />
        <TextField label={words.outcome} value={outcome} hint="PERMISSION_DENIED" apply={set("outcome")} />
        <Choice label={words.began} value={since} options={text.sessions.sinces} apply={set("since")} />
      </form>
      {error && <Failure error={error} retry={refetch} />}
      {!records && !error && <Loading />}
      {records && records.length === 0 && !isFetching && <p className="quiet">{hasMore ? words.noneYet : words.noRecords}</p>}
      {records && records.length > 0 && <Table records={records} />}
      {hasMore && <button type="button" disabled={isFetching} onClick={more}>{isFetching ? text.states.loading : words.older}</button>}
    </>
  );
}

function Table({ records }: { records: readonly AuditRecord[] }) {
  return (
    <table className="plain-table">
      <thead>
        <tr>{words.columns.map((name) => <th key={name} scope="col">{name}</th>)}</tr>
      </thead>
      <tbody>
        {records.map((record, place) => (
          <tr key={place} data-outcome={record.outcome}>
            <td className="when"><Ago time={record.beginTime} /></td>
            <td><code title={record.method}>{shortName(record.method)}</code></td>
            <td>{record.callerUserId ?? <span className="quiet">{words.anyUser}</span>}{record.callerApp === undefined ? "" : ` · ${record.callerApp}`}</td>
            <td className="target">{named(record.targetJson)}</td>
            <td><span className="chip" data-outcome={FINE.has(record.outcome) ? "done" : "failed"}>{record.outcome}</span></td>
            <td className="number quiet">{duration(record.durationMs)}</td>
            <td className="quiet">{record.peer}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** Returns the last part of an RPC's name; the method and path of another call as it is. */
const shortName = (method: string) => (method.startsWith("threadkeep.") ? method.slice(method.lastIndexOf("/") + 1) : method);

const FINE: ReadonlySet<string> = new Set(["OK", "OPENED"]);

/** Returns what a call named: "shop · alice · order-7", then the rest with its names. */
function named(json: string): string {
  let target: Record<string, unknown>;
  try {
    target = JSON.parse(json) as Record<string, unknown>;
  } catch {
    return json;
  }
  const { app, user_id: user, session_id: session, ...rest } = target;
  const place = [app, user, session].filter((part) => part !== undefined && part !== "").join(" · ");
  return [place, ...Object.entries(rest).map(([name, value]) => `${name} ${typeof value === "object" ? JSON.stringify(value) : String(value)}`)].filter(Boolean).join(", ");
}
