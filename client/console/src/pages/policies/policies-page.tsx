// Which policy compacts a session, and where it comes from.

import { toJsonString } from "@bufbuild/protobuf";
import { useQuery } from "@connectrpc/connect-query";
import { getRouteApi } from "@tanstack/react-router";
import { CompactionPolicySchema, CompactionService, type CompactionPolicy, type PolicyScope } from "@threadkeep/client/v1";

import { useOwner } from "../../api/use-owner";
import { TextField, withValue } from "../../components/field";
import { JsonText } from "../../components/json-tree";
import { Failure, Loading } from "../../components/states";
import { Ago } from "../../components/time";
import { text } from "../../text";

const route = getRouteApi("/policies");

type Level = keyof typeof text.policies.levels;

/** Returns the level of the scope on which a policy is set. A server scope that is not true is the configuration. */
function levelOf(scope: PolicyScope | undefined): Level | undefined {
  const kind = scope?.kind;
  if (kind?.case === "user") return kind.value.app === undefined ? "user" : "userInApp";
  if (kind?.case === "server") return kind.value ? "server" : "configuration";
  return kind?.case;
}

export function PoliciesPage() {
  const given = route.useSearch();
  const navigate = route.useNavigate();
  const isOpen = Object.keys(given).length === 0;
  const { owner } = useOwner(isOpen);
  const { app = owner?.app ?? "", user = owner?.user ?? "", id = "" } = given;
  const set = (name: keyof typeof given) => (value: string) => void navigate({ search: withValue({ app, user, ...given }, name, value), replace: true });
  return (
    <div className="page scrolling" tabIndex={0} role="group" aria-label={text.policies.title}>
      <title>{`${text.policies.title} · ${text.shell.name}`}</title>
      <header className="head">
        <h1>{text.policies.title}</h1>
        <span className="quiet">{text.policies.hint}</span>
      </header>
      <form className="filters policy-filters" role="search" aria-label={text.policies.title} onSubmit={(event) => event.preventDefault()}>
        <TextField label={text.sessions.app} value={app} apply={set("app")} />
        <TextField label={text.sessions.user} value={user} apply={set("user")} />
        <TextField label={text.sessions.columns.session} value={id} hint={text.policies.noSession} apply={set("id")} />
      </form>
      <Levels app={app} user={user} id={id} />
    </div>
  );
}

function Levels({ app, user, id }: { app: string; user: string; id: string }) {
  const scopes: readonly (readonly [Level, { case: "session" | "user" | "app" | "server"; value: unknown } | undefined])[] = [
    ["session", id ? { case: "session", value: { app, userId: user, sessionId: id } } : undefined],
    ["userInApp", user ? { case: "user", value: { userId: user, app } } : undefined],
    ["user", user ? { case: "user", value: { userId: user } } : undefined],
    ["app", app ? { case: "app", value: app } : undefined],
    ["server", { case: "server", value: true }],
  ];
  const narrowest = scopes.find(([, scope]) => scope !== undefined)![1];
  const { data, error, refetch } = useQuery(CompactionService.method.getCompactionPolicy, { scope: { kind: narrowest as PolicyScope["kind"] } });
  if (error) return <Failure error={error} retry={() => void refetch()} />;
  if (!data) return <Loading />;
  const level = data.effectivePolicy && levelOf(data.effectiveScope);
  return (
    <section className="section" aria-labelledby="effective">
      <h2 id="effective">{text.policies.effective}</h2>
      <p>{level ? text.policies.from(text.policies.levels[level]) : text.policies.none}</p>
      {data.effectivePolicy && <PolicyView policy={data.effectivePolicy} />}
      <h2>{text.policies.order}</h2>
      <ol className="levels">
        {scopes.map(([name, scope]) => <LevelRow key={name} name={name} kind={scope as PolicyScope["kind"] | undefined} isEffective={name === level} />)}
        <li aria-current={level === "configuration" || undefined}>
          <b>{text.policies.levels.configuration}</b>
          <span className="quiet">{level === "configuration" ? text.policies.inEffect : text.policies.configurationHint}</span>
        </li>
      </ol>
    </section>
  );
}

function LevelRow({ name, kind, isEffective }: { name: Level; kind: PolicyScope["kind"] | undefined; isEffective: boolean }) {
  const { data, error } = useQuery(CompactionService.method.getCompactionPolicy, { scope: kind ? { kind } : {} }, { enabled: kind !== undefined });
  const isSet = data?.policy !== undefined;
  return (
    <li aria-current={isEffective || undefined}>
      <b>{text.policies.levels[name]}</b>
      <span className="quiet">
        {!kind && text.policies.notChosen}
        {error?.message}
        {kind && data && (isEffective ? text.policies.inEffectSet : isSet ? text.policies.overridden : text.policies.notSet)} {isSet && <Ago time={data.updateTime} />}
      </span>
    </li>
  );
}

function PolicyView({ policy }: { policy: CompactionPolicy }) {
  if (policy.disabled) return <p className="warning">{text.policies.disabled}</p>;
  return <JsonText json={toJsonString(CompactionPolicySchema, policy)} />;
}
