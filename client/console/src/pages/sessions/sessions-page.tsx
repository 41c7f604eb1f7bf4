import { getRouteApi } from "@tanstack/react-router";

import { AccessRole, useMay } from "../../api/caller";
import { LiveMark } from "../../components/live";
import { Command, Empty, Failure, Loading } from "../../components/states";
import { firstEvent, text } from "../../text";
import { BulkDelete } from "./bulk-delete";
import { Filters } from "./filters";
import { SessionTable } from "./session-table";
import { useBulkDelete } from "./use-bulk-delete";
import { useSelection } from "./use-selection";
import { narrows, useSessions } from "./use-sessions";

const route = getRouteApi("/sessions");

/** All sessions that the credential may see, the last active first. */
export function SessionsPage() {
  const filters = route.useSearch();
  const navigate = route.useNavigate();
  const sessions = useSessions(filters);
  const { rows, total, watched, error, isPending } = sessions;
  const isFiltered = narrows(filters);
  const mayDelete = useMay(AccessRole.ADMIN);
  const bulk = useBulkDelete();
  const selection = useSelection(JSON.stringify(filters));
  return (
    <div className="page">
      <title>{`${text.sessions.title} · ${text.shell.name}`}</title>
      <header className="head">
        <h1>{text.sessions.title}</h1>
        {total !== undefined && <span className="quiet">{text.sessions.count(total)}</span>}
        <LiveMark watched={watched} />
      </header>
      <Filters filters={filters} apply={(search) => void navigate({ search, replace: true })} />
      {mayDelete && <BulkDelete bulk={bulk} selected={selection.listed} clear={selection.clear} filters={isFiltered && rows.length > 0 ? filters : undefined} />}
      {error && <Failure error={error} retry={() => void sessions.refetch()} />}
      {isPending && !error && <Loading />}
      {rows.length > 0 && (
        <SessionTable
          rows={rows}
          hasMore={sessions.hasNextPage}
          isReading={sessions.isFetchingNextPage}
          read={() => void sessions.fetchNextPage()}
          selection={mayDelete ? selection : undefined}
        />
      )}
      {!isPending && !error && rows.length === 0 && (
        isFiltered ? (
          <Empty title={text.sessions.noMatchTitle}>
            <p>{text.sessions.noMatchHint}</p>
          </Empty>
        ) : (
          <Empty title={text.sessions.emptyTitle}>
            <p>{text.sessions.emptyHint}</p>
            <Command>{firstEvent()}</Command>
          </Empty>
        )
      )}
    </div>
  );
}
