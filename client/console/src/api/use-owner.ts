// Whose data a page shows if its address names nobody: the owner of the session that was active last.

import { useQuery } from "@connectrpc/connect-query";
import { SessionService } from "@threadkeep/client/v1";

export interface Owner {
  app: string;
  user: string;
}

/** Returns the owner of the last active session; undefined while that is not known. Without sessions both names are empty. */
export function useOwner(isNeeded: boolean): { owner: Owner | undefined; error: Error | null } {
  const { data, error } = useQuery(SessionService.method.listSessions, { pageSize: 1 }, { enabled: isNeeded });
  const ref = data?.sessions[0]?.ref;
  return { owner: data && { app: ref?.app ?? "", user: ref?.userId ?? "" }, error };
}
