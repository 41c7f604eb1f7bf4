// The memories of one user: a list page by page, or the hits of a query.

import { useQuery } from "@connectrpc/connect-query";
import { useInfiniteQuery, useQueryClient } from "@tanstack/react-query";
import { MemoryService, type MemoryEntry, type MemoryName } from "@threadkeep/client/v1";

import { useClient } from "../../api/connection";
import { useWatch } from "../../api/watching";
import { endingOf } from "../../api/use-ending";

/** Entries of a page, and most hits of a query. */
const PAGE = 25;
const HITS = 50;

export interface MemoryQuery {
  app: string;
  user: string;
  q: string;
  namespace: string;
}

export const nameOf = ({ namespace, id }: MemoryEntry): Pick<MemoryName, "namespace" | "id"> => ({ namespace, id });

export const keyOf = (entry: MemoryEntry) => JSON.stringify([...entry.namespace, "", entry.id]);

export function useMemories({ app, user, q, namespace }: MemoryQuery) {
  const client = useClient();
  const queries = useQueryClient();
  const scope = { app, userId: user };
  const filter = { namespacePrefix: namespace.split("/").map((label) => label.trim()).filter(Boolean) };
  const query = q.trim();
  const isOn = user !== "";
  const listed = useInfiniteQuery({
    queryKey: ["memories", JSON.stringify([app, user, filter])],
    initialPageParam: "",
    queryFn: ({ pageParam, signal }: { pageParam: string; signal: AbortSignal }) =>
      client.raw(MemoryService).listMemories({ scope, filter, pageSize: PAGE, pageToken: pageParam }, { signal }),
    getNextPageParam: ({ nextPageToken }) => nextPageToken || undefined,
    enabled: isOn && query === "",
    staleTime: 0,
  });
  const found = useQuery(MemoryService.method.searchMemory, { scope, filter, query, topK: HITS }, { enabled: isOn && query !== "", placeholderData: (before) => before, staleTime: 0 });
  const entries = query ? found.data?.entries : listed.data?.pages.flatMap((page) => page.entries);
  const { error, isFetching } = query ? found : listed;
  /** Reads again what is shown, after a change. */
  const reread = () => {
    void queries.invalidateQueries({ queryKey: ["memories"] });
    if (query) void found.refetch();
  };
  useWatch(
    `memories ${JSON.stringify([app, user])}`,
    isOn ? (signal, resumeToken) => client.watchAll({ app, userId: user, from: resumeToken ? { resumeToken } : "now", checkpoints: true }, { signal }) : undefined,
    // A session may have taken its memories along.
    (change) => endingOf(change) && reread(),
  );
  return {
    entries,
    error,
    isFetching,
    reread,
    hasMore: query === "" && listed.hasNextPage,
    more: () => void listed.fetchNextPage(),
  };
}
