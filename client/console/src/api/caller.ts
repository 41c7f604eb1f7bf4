// Who calls, as the server sees the credential. Pages leave out what a role does not allow; the server refuses it all the same.

import { timestampMs } from "@bufbuild/protobuf/wkt";
import { useQuery } from "@connectrpc/connect-query";
import { AccessRole, ServerService, type CallerStatus } from "@threadkeep/client/v1";
import { useEffect, useRef } from "react";

/** Milliseconds between two reads. Roles of a token change rarely, and limits fill slowly. */
const PERIOD = 15_000;

export function useCaller(): { caller: CallerStatus | undefined; isUnsaid: boolean; error: Error | null; refetch: () => unknown } {
  const { data, error, refetch } = useQuery(ServerService.method.getServerInfo, {}, { refetchInterval: PERIOD });
  return { caller: data?.caller, isUnsaid: data !== undefined && !data.caller, error, refetch };
}

/** Returns whether the credential has a role. Until that is known it has none, so that no button vanishes under the pointer. */
export function useMay(role: AccessRole): boolean {
  const { data } = useQuery(ServerService.method.getServerInfo, {}, { staleTime: Infinity });
  if (!data) return false;
  return data.caller?.roles.includes(role) ?? true; // an older server does not say
}

export { AccessRole };

/** Milliseconds between looks at the clock. */
const LOOK = 5_000;

/** Calls the server once the credential has expired: its refusal leads to the sign-in. A stream that is open stays open without. */
export function useExpiry(): void {
  const { data, refetch } = useQuery(ServerService.method.getServerInfo, {}, { staleTime: Infinity });
  const expires = data?.caller?.expireTime && timestampMs(data.caller.expireTime);
  const latest = useRef(refetch);
  latest.current = refetch;
  useEffect(() => {
    if (!expires) return undefined;
    const timer = setInterval(() => Date.now() >= expires && void latest.current(), LOOK);
    return () => clearInterval(timer);
  }, [expires]);
}
