import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { CallOptions } from "@connectrpc/connect";

import { ServerService, type ListAuditRecordsResponse } from "../gen/threadkeep/v1/server_service_pb.js";
import type { Caller, PageOptions } from "../requests.js";

/** Which records of the audit log to list. A record must match all that is given. */
export interface AuditQuery extends PageOptions {
  /** Method of the call: "threadkeep.v1.SessionService/DeleteSession", or "DeleteSession". */
  method?: string | undefined;
  /** User that the credential of the call is bound to; "" is credentials without one. */
  callerUserId?: string | undefined;
  /** Id of the session that the request named. */
  sessionId?: string | undefined;
  /** Outcome of the call: "OK", or the reason of the error. */
  outcome?: string | undefined;
  /** Earliest time at which a call began. */
  from?: Date | undefined;
  /** Time before which a call began. */
  to?: Date | undefined;
}

export function listAuditRecords(caller: Caller, query: AuditQuery, call?: CallOptions): Promise<ListAuditRecordsResponse> {
  const { from, to, ...rest } = query;
  return caller.raw(ServerService).listAuditRecords({ ...rest, fromTime: from && timestampFromDate(from), toTime: to && timestampFromDate(to) }, call);
}
