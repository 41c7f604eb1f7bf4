package dev.threadkeep.async;

import dev.threadkeep.internal.operations.RetentionOperations;
import dev.threadkeep.v1.ListRetentionReceiptsRequest;
import dev.threadkeep.v1.ListRetentionReceiptsResponse;
import dev.threadkeep.v1.RestoreSessionResponse;
import dev.threadkeep.v1.RetentionReceipt;
import dev.threadkeep.v1.RunRetentionRequest;
import dev.threadkeep.v1.RunRetentionResponse;
import dev.threadkeep.v1.SessionRef;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;

/**
 * The retention of the server: policies that archive and delete old sessions. Its calls need the role ADMIN. Reasons:
 * RETENTION_NOT_CONFIGURED, ARCHIVE_FAILED. Creating it makes no call.
 *
 * @see dev.threadkeep.RetentionHandle
 */
public final class AsyncRetentionHandle {
  private final AsyncCalls client;

  AsyncRetentionHandle(AsyncCalls client) {
    this.client = client;
  }

  /**
   * Archives and deletes sessions that policies select. Repeat it with the next_run_token of the response, while there is one. It
   * is not repeated by itself.
   * Reasons: INVALID_FIELD.
   *
   * @param change changes the request, for example its policies, max_sessions or dry_run
   * @return a future of what was done
   */
  public CompletableFuture<RunRetentionResponse> run(Consumer<RunRetentionRequest.Builder> change) {
    return client.start(() -> RetentionOperations.run(change));
  }

  /**
   * Lists the receipts of sessions that were deleted, newest first.
   *
   * @param change changes the request, for example its user_id or session_id
   * @return the receipts
   */
  public AsyncPages<RetentionReceipt> receipts(Consumer<ListRetentionReceiptsRequest.Builder> change) {
    return new AsyncPages<>(client, RetentionOperations.receipts(change));
  }

  /**
   * Returns one page of the receipts. Reasons: INVALID_PAGE_TOKEN.
   *
   * @param change changes the request, for example its user_id or session_id
   * @return a future of the page, and the token of the next one
   */
  public CompletableFuture<ListRetentionReceiptsResponse> receiptsPage(Consumer<ListRetentionReceiptsRequest.Builder> change) {
    return client.start(() -> RetentionOperations.receiptsPage(change));
  }

  /**
   * Stores an archived session again. Repeated, it changes nothing. Reasons: SESSION_NOT_FOUND, if there is no archive of it.
   *
   * @param session the session, with app and user
   * @param receiptId id of the receipt whose archive to restore; empty for the newest one
   * @return a future of the receipt, and the numbers of events
   */
  public CompletableFuture<RestoreSessionResponse> restore(SessionRef session, String receiptId) {
    return client.start(() -> RetentionOperations.restore(session, receiptId));
  }
}
