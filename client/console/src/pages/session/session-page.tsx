import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useRef } from "react";

import { useConnection } from "../../api/connection";
import { ChooseSession } from "../../components/choose-session";
import { Failure, Loading } from "../../components/states";
import { text } from "../../text";
import { isSeq, newestQuery, refOf, sessionQuery } from "./opening";
import { SessionView } from "./session-view";

const route = getRouteApi("/session");

/** One session: what was said, by whom, and what is being said now. */
export function SessionPage() {
  const search = route.useSearch();
  const { seq } = search;
  const reader = useConnection();
  const ref = refOf(search);
  const { sessionId: id } = ref;
  const enabled = id !== "";
  const { data, error, refetch } = useQuery({ ...sessionQuery(reader, ref), enabled, refetchOnWindowFocus: false });
  // If it fails, the view reads the same page by page.
  const newest = useQuery({ ...newestQuery(reader, ref), enabled: enabled && !isSeq(seq), refetchOnWindowFocus: false, refetchOnReconnect: false });
  /** The session that is shown: it stays when its address names no seq any more. */
  const shown = useRef("");
  if (id === "") return <ChooseSession />;
  const session = data?.session;
  const isReady = isSeq(seq) || !newest.isPending || shown.current === session?.uid;
  if (session && isReady) shown.current = session.uid;
  return (
    <div className="page">
      <title>{`${id} · ${text.shell.name}`}</title>
      {error && !data && <Failure error={error} retry={() => void refetch()} />}
      {!error && !(session && isReady) && <Loading />}
      {session && isReady && <SessionView key={session.uid} session={session} seq={seq} />}
    </div>
  );
}
