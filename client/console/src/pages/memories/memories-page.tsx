import { timestampDate } from "@bufbuild/protobuf/wkt";
import { useMutation } from "@connectrpc/connect-query";
import { getRouteApi } from "@tanstack/react-router";
import { MemoryService, type DeleteMemoriesResponse, type MemoryEntry } from "@threadkeep/client/v1";
import { useState } from "react";

import { useOwner } from "../../api/use-owner";
import { CopyButton } from "../../components/copy-button";
import { TextField, withValue } from "../../components/field";
import { Command, Empty, Failure, Loading } from "../../components/states";
import { text } from "../../text";
import { MemoryCard } from "./memory-card";
import { keyOf, nameOf, useMemories } from "./use-memories";

const route = getRouteApi("/memories");
const words = text.memories;

/** What is remembered of a user. */
export function MemoriesPage() {
  const given = route.useSearch();
  const navigate = route.useNavigate();
  const isOpen = given.app === undefined && given.user === undefined;
  const { owner, error } = useOwner(isOpen);
  const { app = owner?.app ?? "", user = owner?.user ?? "", q = "", namespace = "" } = given;
  const set = (name: keyof typeof given) => (value: string) => void navigate({ search: { ...withValue({ ...given, app, user }, name, value) }, replace: true });
  const isKnown = !isOpen || owner !== undefined || error !== null;
  return (
    <div className="page">
      <title>{`${words.title} · ${text.shell.name}`}</title>
      <header className="head">
        <h1>{words.title}</h1>
        <span className="quiet">{words.hint}</span>
      </header>
      <form className="filters memory-filters" role="search" aria-label={words.title} onSubmit={(event) => event.preventDefault()}>
        <TextField label={text.sessions.app} value={app} apply={set("app")} />
        <TextField label={text.sessions.user} value={user} apply={set("user")} />
        <TextField label={words.query} value={q} hint={words.queryHint} apply={set("q")} />
        <TextField label={words.namespace} value={namespace} hint={words.namespaceHint} apply={set("namespace")} />
      </form>
      {!isKnown && <Loading />}
      {isKnown && user === "" && (
        <Empty title={words.user}>
          <p>{words.userHint}</p>
        </Empty>
      )}
      {isKnown && user !== "" && <List key={JSON.stringify([app, user])} query={{ app, user, q, namespace }} />}
    </div>
  );
}

interface Receipt {
  entry: MemoryEntry;
  answer: DeleteMemoriesResponse;
}

function List({ query }: { query: Parameters<typeof useMemories>[0] }) {
  const { entries, error, hasMore, isFetching, more, reread } = useMemories(query);
  const [receipts, setReceipts] = useState<Receipt[]>([]);
  const deletion = useMutation(MemoryService.method.deleteMemories);
  const remove = (entry: MemoryEntry) =>
    deletion.mutate(
      { scope: entry.scope ?? {}, selection: { case: "names", value: { names: [nameOf(entry)] } } },
      { onSuccess: (answer) => { setReceipts((before) => [...before, { entry, answer }]); reread(); } },
    );
  return (
    <div className="memories" tabIndex={0} role="group" aria-label={words.list} aria-busy={isFetching}>
      {receipts.length > 0 && <Receipts receipts={receipts} />}
      {deletion.error && <Failure error={deletion.error} />}
      {error && <Failure error={error} retry={reread} />}
      {!entries && !error && <Loading />}
      <ol className="plain-list">
        {entries?.map((entry) => <MemoryCard key={keyOf(entry)} entry={entry} isDeleting={deletion.isPending} remove={remove} reread={reread} />)}
      </ol>
      {hasMore && <button type="button" className="more" disabled={isFetching} onClick={more}>{words.more}</button>}
      {entries?.length === 0 && !error && (query.q || query.namespace ? (
        <Empty title={words.noMatchTitle}>
          <p>{words.noMatchHint}</p>
        </Empty>
      ) : (
        <Empty title={words.emptyTitle}>
          <p>{words.emptyHint}</p>
          <Command>{words.emptyCommand(query.app, query.user)}</Command>
        </Empty>
      ))}
    </div>
  );
}

function Receipts({ receipts }: { receipts: readonly Receipt[] }) {
  const sum = (name: "deleted" | "embeddingsDeleted") => receipts.reduce((all, { answer }) => all + answer[name], 0n);
  const lines = () => receipts.map(({ entry, answer }) => words.receipt([...entry.namespace, entry.id].join("/"), answer.deleteTime ? timestampDate(answer.deleteTime).toISOString() : "")).join("\n");
  return (
    <div className="receipt" role="status">
      <p>{words.removed(sum("deleted"), sum("embeddingsDeleted"))} {sum("deleted") < receipts.length && words.notFound}</p>
      <CopyButton label={words.copyReceipt} made={lines} />
    </div>
  );
}
