// Who is signed in, what the credential may do, and how much of its limits is used.

import { timestampDate } from "@bufbuild/protobuf/wkt";
import { getRouteApi } from "@tanstack/react-router";
import type { CallerStatus } from "@threadkeep/client/v1";

import { AccessRole, useCaller } from "../../api/caller";
import { Command, Failure, Loading } from "../../components/states";
import { Ago, exact } from "../../components/time";
import { text } from "../../text";
import { AuditLog } from "./audit-log";
import { Quotas } from "./quotas";

const words = text.access;
const route = getRouteApi("/access");

const ROLES: Readonly<Record<keyof typeof words.can, AccessRole>> = {
  reader: AccessRole.READER,
  writer: AccessRole.WRITER,
  compactor: AccessRole.COMPACTOR,
  admin: AccessRole.ADMIN,
  ops: AccessRole.OPS,
};

export function AccessPage() {
  const filters = route.useSearch();
  const navigate = route.useNavigate();
  const { caller, isUnsaid, error, refetch } = useCaller();
  return (
    <div className="page scrolling" tabIndex={0} role="group" aria-label={words.title}>
      <title>{`${words.title} · ${text.shell.name}`}</title>
      <header className="head">
        <h1>{words.title}</h1>
        <span className="quiet">{words.hint}</span>
      </header>
      {error && <Failure error={error} retry={() => void refetch()} />}
      {isUnsaid && <p className="quiet">{words.unsaid}</p>}
      {!caller && !isUnsaid && !error && <Loading />}
      {caller && (
        <>
          <Who caller={caller} />
          <Roles caller={caller} />
          <section className="section" aria-labelledby="quotas">
            <h2 id="quotas">{words.quotas}</h2>
            {caller.quotas.length > 0 ? <Quotas quotas={caller.quotas} /> : <p className="quiet">{words.noQuotas}</p>}
            {caller.quotas.length === 0 && <Command>{words.quotaSettings}</Command>}
          </section>
          <AuditLog filters={filters} apply={(search) => void navigate({ search, replace: true })} />
        </>
      )}
    </div>
  );
}

function Who({ caller: { authenticated, tenant, app, userId, expireTime } }: { caller: CallerStatus }) {
  const facts = [
    [words.tenant, <code key="">{tenant}</code>],
    [words.app, app ? <code key="">{app}</code> : words.anyApp],
    [words.user, userId ? <code key="">{userId}</code> : words.anyUser],
    [words.expires, expireTime ? <span key=""><Ago time={expireTime} /> <span className="quiet small">{exact(timestampDate(expireTime))}</span></span> : words.never],
  ] as const;
  return (
    <section className="section who" aria-labelledby="who">
      <h2 id="who">{words.who}</h2>
      <p>{authenticated ? words.signedIn : words.open}</p>
      <dl className="facts-list">
        {facts.map(([name, value]) => <div key={name}><dt>{name}</dt><dd>{value}</dd></div>)}
      </dl>
    </section>
  );
}

function Roles({ caller: { roles } }: { caller: CallerStatus }) {
  return (
    <section className="section" aria-labelledby="roles">
      <h2 id="roles">{words.roles}</h2>
      {roles.length === 0 && <p className="warning">{words.noRoles}</p>}
      <table className="plain-table roles">
        <tbody>
          {(Object.keys(ROLES) as (keyof typeof ROLES)[]).map((role) => {
            const has = roles.includes(ROLES[role]);
            return (
              <tr key={role} data-has={has}>
                <th scope="row"><code>{role}</code></th>
                <td>{has ? <span className="chip" data-outcome="done">{words.has}</span> : <span className="chip faint">{words.hasNot}</span>}</td>
                <td className="quiet">{words.can[role]}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
      <p className="quiet small">{words.hides}</p>
    </section>
  );
}
