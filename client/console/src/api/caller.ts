// Who calls, as the server sees the credential. Pages leave out what a role does not allow; the server refuses it all the same.

import { useQuery } from "@connectrpc/connect-query";
import { AccessRole, ServerService, type CallerStatus } from "@threadkeep/client/v1";

/** Milliseconds between two reads. Roles of a token change rarely, and limits fill slowly. */
const PERIOD = 15_000;

export function useCaller(): { caller: CallerStatus | undefined; error: Error | null; refetch: () => unknown } {
  const { data, error, refetch } = useQuery(ServerService.method.getServerInfo, {}, { refetchInterval: PERIOD });
  return { caller: data?.caller, error, refetch };
}

/** Returns whether the credential has a role. Until that is known it has none, so that no button vanishes under the pointer. */
export function useMay(role: AccessRole): boolean {
  const { data } = useQuery(ServerService.method.getServerInfo, {}, { staleTime: Infinity });
  if (!data) return false;
  return data.caller?.roles.includes(role) ?? true; // an older server does not say
}

export { AccessRole };
