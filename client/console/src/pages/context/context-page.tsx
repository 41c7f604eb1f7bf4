import { useQuery } from "@connectrpc/connect-query";
import { keepPreviousData } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { CompactionService, EventService, SessionService } from "@threadkeep/client/v1";

import { useEnding, useSessionChanges } from "../../api/use-ending";
import { ChooseSession } from "../../components/choose-session";
import { Gauge } from "../../components/gauge";
import { SessionHead } from "../../components/session-head";
import { Ending, Failure, Loading } from "../../components/states";
import { text } from "../../text";
import { Compact } from "./compact";
import { ContextControls } from "./context-controls";
import { ContextEvents } from "./context-events";
import { contextRequest, tokensOf, type ContextSearch } from "./spec";

const route = getRouteApi("/context");

/** Exactly what an agent receives, now or as of a past event, and what a compaction would make of it. */
export function ContextPage() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const request = contextRequest(search);
  const { session: ref } = request;
  const enabled = ref.sessionId !== "";
  const session = useQuery(SessionService.method.getSession, { session: ref }, { enabled, staleTime: 0 });
  const context = useQuery(EventService.method.getContext, request, { enabled, staleTime: 0, placeholderData: keepPreviousData });
  const scope = { kind: { case: "session", value: ref } } as const;
  const policy = useQuery(CompactionService.method.getCompactionPolicy, { scope }, { enabled });
  const [ending, note] = useEnding(ref);
  useSessionChanges(ref, enabled, note);
  if (!enabled) return <ChooseSession />;
  const apply = (next: ContextSearch) => void navigate({ search: next, replace: true });
  const reread = () => void Promise.all([session.refetch(), context.refetch()]);
  const { data } = context;
  const failure = session.error ?? context.error;
  const found = session.data?.session;
  return (
    <div className="page">
      <title>{`${text.views.context} · ${ref.sessionId}`}</title>
      <SessionHead session={found?.ref ?? { ...ref, $typeName: "threadkeep.v1.SessionRef" }} />
      <Ending ending={ending} />
      {failure && <Failure error={failure} retry={reread} />}
      {found && (
        <div className="split">
          <aside className="panel" aria-label={text.context.settings}>
            <ContextControls search={search} lastSeq={Number(found.lastSeq)} apply={apply} />
            {data && (
              <>
                <Gauge context={Number(data.context?.tokens ?? 0n)} window={Number(data.window?.tokens ?? 0n)} trigger={tokensOf(policy.data?.effectivePolicy?.trigger)} />
                <p className="quiet small">{text.context.policy(policy.data?.effectiveScope?.kind.case, policy.data?.effectivePolicy?.trigger !== undefined)}</p>
              </>
            )}
            <Compact session={found.ref!} done={reread} />
          </aside>
          <section className="results" aria-label={text.context.events} aria-busy={context.isFetching}>
            {data && (
              <p className="summary quiet">
                {text.context.summary(data.context?.events ?? 0n, data.context?.turns ?? 0n, data.context?.tokens ?? 0n)}
                {data.truncated && ` ${text.context.truncated}`}
                {data.overBudget && ` ${text.context.overBudget}`}
              </p>
            )}
            {data ? <ContextEvents events={data.events} session={found.ref!} /> : !failure && <Loading />}
          </section>
        </div>
      )}
      {!found && !failure && <Loading />}
    </div>
  );
}
