import { create } from "@bufbuild/protobuf";
import type { CallOptions } from "@connectrpc/connect";

import {
  ServerService, type ListRetentionReceiptsResponse, type RestoreSessionResponse, type RunRetentionResponse,
} from "../gen/threadkeep/v1/server_service_pb.js";
import type { RetentionReceipt } from "../gen/threadkeep/v1/retention_pb.js";
import { SessionRefSchema } from "../gen/threadkeep/v1/session_pb.js";
import { paged } from "../pages.js";
import type { Caller, PageOptions } from "../requests.js";

/** What a run of retention policies does. */
export interface RunRetentionOptions {
  /** Names of the policies. Default: all. */
  policies?: string[] | undefined;
  /** Maximum number of sessions, at most 1,000. Default: 100. */
  maxSessions?: number | undefined;
  /** Change nothing, and return what a run would take. */
  dryRun?: boolean | undefined;
  /** Run also while the clock of the server may be wrong, which `held` of the response says. */
  ignoreHold?: boolean | undefined;
  /** Continue the run of the previous call: its `nextRunToken`. */
  runToken?: string | undefined;
}

/** Which receipts to list. A session must match all that is given. */
export interface ReceiptsQuery extends PageOptions {
  /** App of the sessions; "" is those without one. */
  app?: string | undefined;
  /** User of the sessions. */
  userId?: string | undefined;
  /** Id of the sessions. */
  sessionId?: string | undefined;
}

/**
 * The retention of the server: policies that archive and delete old sessions. Its calls need the role admin. Reasons:
 * RETENTION_NOT_CONFIGURED, ARCHIVE_FAILED.
 */
export class RetentionHandle {
  readonly #caller: Caller;

  /** Use `Client.retention`. */
  constructor(caller: Caller) {
    this.#caller = caller;
  }

  /** Archives and deletes sessions that policies select. Repeat it with its `nextRunToken`, while there is one. */
  run(options: RunRetentionOptions = {}, call?: CallOptions): Promise<RunRetentionResponse> {
    return this.#caller.raw(ServerService).runRetention(options, call);
  }

  /** Iterates over the receipts of sessions that were deleted, newest first. */
  receipts(query: ReceiptsQuery = {}, call?: CallOptions): AsyncGenerator<RetentionReceipt, void> {
    return paged((pageToken) => this.receiptsPage({ ...query, pageToken }, call), (page) => page.receipts);
  }

  /** Returns one page of `receipts`. */
  receiptsPage(query: ReceiptsQuery = {}, call?: CallOptions): Promise<ListRetentionReceiptsResponse> {
    return this.#caller.raw(ServerService).listRetentionReceipts(query, call);
  }

  /**
   * Stores an archived session again, from its newest archive or that of `receiptId`. Repeated, it changes nothing. Reasons:
   * SESSION_NOT_FOUND, if there is no archive of it.
   */
  restore(
    session: { app?: string; userId?: string; sessionId: string }, options: { receiptId?: string | undefined } = {}, call?: CallOptions,
  ): Promise<RestoreSessionResponse> {
    return this.#caller.raw(ServerService).restoreSession({ session: create(SessionRefSchema, session), receiptId: options.receiptId }, call);
  }
}
