import { useQuery } from "@connectrpc/connect-query";
import { getRouteApi } from "@tanstack/react-router";
import { CompactionService, SessionService, type Session, type SessionRef } from "@threadkeep/client/v1";
import type { ReactNode } from "react";

import { useEnding } from "../../api/use-ending";
import { ChooseSession } from "../../components/choose-session";
import { JsonText } from "../../components/json-tree";
import { whole } from "../../components/numbers";
import { SessionHead } from "../../components/session-head";
import { Ending, Failure, Loading } from "../../components/states";
import { Ago } from "../../components/time";
import { text } from "../../text";
import { Branches, Lineage } from "./lineage";
import { Section } from "./section";
import { StateSection } from "./state-section";

const route = getRouteApi("/details");
const words = text.details;

/** What a session has next to its events: state, metadata, usage, branches, compactions, and where it was forked. */
export function DetailsPage() {
  const { app = "", user = "", id = "" } = route.useSearch();
  const ref = { app, userId: user, sessionId: id };
  const { data, error, refetch } = useQuery(SessionService.method.getSession, { session: ref }, { enabled: id !== "", staleTime: 0 });
  if (id === "") return <ChooseSession />;
  return (
    <div className="page scrolling" tabIndex={0} role="group" aria-label={text.views.details}>
      <title>{`${text.views.details} · ${id}`}</title>
      {error && <Failure error={error} retry={() => void refetch()} />}
      {!data && !error && <Loading />}
      {data?.session && <Details key={data.session.uid} session={data.session} />}
    </div>
  );
}

function Details({ session }: { session: Session }) {
  const ref = session.ref!;
  const { usage, window } = session;
  const [ending, note] = useEnding(ref);
  const facts: [string, ReactNode][] = [
    [words.created, <Ago key="" time={session.createTime} />],
    [words.updated, <Ago key="" time={session.updateTime} />],
    [words.expires, session.expireTime ? <Ago key="" time={session.expireTime} /> : words.never],
    [words.events, whole(session.lastSeq)],
    [words.window, words.counters(window?.events ?? 0n, window?.turns ?? 0n, window?.tokens ?? 0n)],
    [words.usage, words.tokens(usage?.inputTokens ?? 0n, usage?.outputTokens ?? 0n)],
    [words.versions, `${session.logVersion} / ${session.windowVersion}`],
    [words.uid, <code key="">{session.uid}</code>],
  ];
  return (
    <>
      <SessionHead session={ref} />
      <Ending ending={ending} />
      <dl className="facts-list">
        {facts.map(([name, value]) => (
          <div key={name}><dt>{name}</dt><dd>{value}</dd></div>
        ))}
      </dl>
      {session.metadataJson && <Section title={words.metadata}><JsonText json={session.metadataJson} /></Section>}
      <StateSection session={session} seen={note} />
      <Branches session={ref} />
      <Compactions session={ref} />
      <Lineage session={session} />
    </>
  );
}

function Compactions({ session }: { session: SessionRef }) {
  const { data, error } = useQuery(CompactionService.method.listCompactions, { session }, { staleTime: 0 });
  return (
    <Section title={words.compactions}>
      {error && <Failure error={error} />}
      {data?.compactions.length === 0 && <p className="quiet">{words.noCompactions}</p>}
      {data && data.compactions.length > 0 && (
        <table className="plain-table">
          <tbody>
            {data.compactions.map((each) => (
              <tr key={each.compactionId}>
                <th scope="row">{each.strategy.replaceAll("_", " ")}</th>
                <td>{text.fold.archived(each.archivedEvents)}</td>
                <td>{text.fold.saved(each.before?.tokens ?? 0n, each.after?.tokens ?? 0n)}</td>
                <td className="quiet">{each.actor}</td>
                <td className="quiet"><Ago time={each.createTime} /></td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </Section>
  );
}
