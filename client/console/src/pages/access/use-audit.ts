// The records of the audit log, page by page, newest first.

import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { useInfiniteQuery } from "@tanstack/react-query";
import { ServerService, type ListAuditRecordsResponse } from "@threadkeep/client/v1";

import { useClient } from "../../api/connection";
import { beginOf } from "../../since";

const PAGE = 50;
/** Pages without a match that one click reads: the server reads a part of its file for each. */
const MOST_EMPTY = 10;

export interface AuditFilters {
  method?: string;
  caller?: string;
  session?: string;
  outcome?: string;
  since?: string;
}

/** Where a page begins. The time stays that of the first page: the token is of one request. */
interface Place {
  token: string;
  from: number | undefined;
}

export function useAudit({ method = "", caller = "", session = "", outcome = "", since = "" }: AuditFilters, enabled: boolean) {
  const client = useClient();
  const wanted = { method, sessionId: session, outcome, ...(caller === "" ? {} : { callerUserId: caller }), pageSize: PAGE };
  const query = useInfiniteQuery({
    queryKey: ["audit", JSON.stringify([wanted, since])],
    initialPageParam: { token: "", from: undefined } as Place,
    queryFn: async ({ pageParam, signal }: { pageParam: Place; signal: AbortSignal }) => {
      const from = pageParam.from ?? beginOf(since);
      const fromTime = from === undefined ? {} : { fromTime: timestampFromMs(from) };
      let { token } = pageParam;
      let page: ListAuditRecordsResponse;
      let reads = 0;
      do {
        page = await client.raw(ServerService).listAuditRecords({ ...wanted, ...fromTime, pageToken: token }, { signal });
        token = page.nextPageToken;
        reads += 1;
      } while (page.records.length === 0 && token !== "" && reads < MOST_EMPTY);
      return { records: page.records, next: token === "" ? undefined : { token, from } };
    },
    getNextPageParam: ({ next }) => next,
    enabled,
    staleTime: 0,
    retry: false,
  });
  return {
    records: query.data?.pages.flatMap((page) => page.records),
    error: query.error,
    isFetching: query.isFetching,
    hasMore: query.hasNextPage,
    more: () => void query.fetchNextPage(),
    refetch: () => void query.refetch(),
  };
}
