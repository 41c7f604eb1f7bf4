package dev.threadkeep.internal.operations;

import dev.threadkeep.v1.ListRetentionReceiptsRequest;
import dev.threadkeep.v1.ListRetentionReceiptsResponse;
import dev.threadkeep.v1.RestoreSessionRequest;
import dev.threadkeep.v1.RestoreSessionResponse;
import dev.threadkeep.v1.RetentionReceipt;
import dev.threadkeep.v1.RunRetentionRequest;
import dev.threadkeep.v1.RunRetentionResponse;
import dev.threadkeep.v1.ServerServiceGrpc;
import dev.threadkeep.v1.SessionRef;
import java.util.function.Consumer;

/** The calls on retention. */
public final class RetentionOperations {
  private RetentionOperations() {}

  public static Operation<RunRetentionResponse> run(Consumer<RunRetentionRequest.Builder> change) {
    var request = RunRetentionRequest.newBuilder();
    change.accept(request);
    return Operation.of(ServerServiceGrpc.getRunRetentionMethod(), request.build());
  }

  public static Listing<RetentionReceipt> receipts(Consumer<ListRetentionReceiptsRequest.Builder> change) {
    var method = ServerServiceGrpc.getListRetentionReceiptsMethod();
    return Listing.of(method, changed(change), ListRetentionReceiptsResponse::getReceiptsList);
  }

  public static Operation<ListRetentionReceiptsResponse> receiptsPage(Consumer<ListRetentionReceiptsRequest.Builder> change) {
    return Operation.of(ServerServiceGrpc.getListRetentionReceiptsMethod(), changed(change));
  }

  public static Operation<RestoreSessionResponse> restore(SessionRef session, String receiptId) {
    var request = RestoreSessionRequest.newBuilder().setSession(session).setReceiptId(receiptId).build();
    return Operation.of(ServerServiceGrpc.getRestoreSessionMethod(), request);
  }

  private static ListRetentionReceiptsRequest changed(Consumer<ListRetentionReceiptsRequest.Builder> change) {
    var request = ListRetentionReceiptsRequest.newBuilder();
    change.accept(request);
    return request.build();
  }
}
