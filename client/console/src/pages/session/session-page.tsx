import { useQuery } from "@connectrpc/connect-query";
import { getRouteApi } from "@tanstack/react-router";
import { SessionService } from "@threadkeep/client/v1";

import { ChooseSession } from "../../components/choose-session";
import { Failure, Loading } from "../../components/states";
import { text } from "../../text";
import { SessionView } from "./session-view";

const route = getRouteApi("/session");

/** One session: what was said, by whom, and what is being said now. */
export function SessionPage() {
  const { app = "", user = "", id = "", seq } = route.useSearch();
  const ref = { app, userId: user, sessionId: id };
  const { data, error, refetch } = useQuery(SessionService.method.getSession, { session: ref }, { enabled: id !== "", staleTime: 0, refetchOnWindowFocus: false });
  if (id === "") return <ChooseSession />;
  return (
    <div className="page">
      <title>{`${id} · ${text.shell.name}`}</title>
      {error && !data && <Failure error={error} retry={() => void refetch()} />}
      {!error && !data && <Loading />}
      {data?.session && <SessionView key={data.session.uid} session={data.session} seq={seq} />}
    </div>
  );
}
