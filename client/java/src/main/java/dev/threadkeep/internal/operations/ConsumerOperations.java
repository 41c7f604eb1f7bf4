package dev.threadkeep.internal.operations;

import dev.threadkeep.v1.ConsumerServiceGrpc;
import dev.threadkeep.v1.DeleteConsumerRequest;
import dev.threadkeep.v1.DeleteConsumerResponse;
import dev.threadkeep.v1.DeleteParkedChangesRequest;
import dev.threadkeep.v1.DeleteParkedChangesResponse;
import dev.threadkeep.v1.GetConsumerRequest;
import dev.threadkeep.v1.GetConsumerResponse;
import dev.threadkeep.v1.ListParkedChangesRequest;
import dev.threadkeep.v1.ListParkedChangesResponse;
import dev.threadkeep.v1.ParkedChange;
import dev.threadkeep.v1.ReplayParkedChangesRequest;
import dev.threadkeep.v1.ReplayParkedChangesResponse;
import java.util.List;
import java.util.Optional;

/** The operations of a named consumer. */
public final class ConsumerOperations {
  private static final Operation<Long> NONE = new Operation.Result<>(0L);

  private ConsumerOperations() {}

  public static Operation<GetConsumerResponse> get(String name) {
    return Operation.of(ConsumerServiceGrpc.getGetConsumerMethod(), GetConsumerRequest.newBuilder().setName(name).build());
  }

  public static Operation<DeleteConsumerResponse> delete(String name) {
    return Operation.of(ConsumerServiceGrpc.getDeleteConsumerMethod(), DeleteConsumerRequest.newBuilder().setName(name).build());
  }

  public static Listing<ParkedChange> parked(String name) {
    var request = ListParkedChangesRequest.newBuilder().setName(name).build();
    return Listing.of(ConsumerServiceGrpc.getListParkedChangesMethod(), request, ListParkedChangesResponse::getParkedChangesList);
  }

  public static Operation<ListParkedChangesResponse> parkedPage(String name, int pageSize, String pageToken) {
    var request = ListParkedChangesRequest.newBuilder().setName(name).setPageSize(pageSize).setPageToken(pageToken).build();
    return Operation.of(ConsumerServiceGrpc.getListParkedChangesMethod(), request);
  }

  /** Replays the changes with these ids, none for an empty list; without a list, all. */
  public static Operation<Long> replayParked(String name, Optional<List<String>> parkedIds) {
    if (parkedIds.filter(List::isEmpty).isPresent()) {
      return NONE;
    }
    var request = ReplayParkedChangesRequest.newBuilder().setName(name).addAllParkedIds(parkedIds.orElse(List.of())).build();
    return Operation.of(ConsumerServiceGrpc.getReplayParkedChangesMethod(), request, ReplayParkedChangesResponse::getReplayed);
  }

  /** Deletes the changes with these ids, none for an empty list; without a list, all. */
  public static Operation<Long> deleteParked(String name, Optional<List<String>> parkedIds) {
    if (parkedIds.filter(List::isEmpty).isPresent()) {
      return NONE;
    }
    var request = DeleteParkedChangesRequest.newBuilder().setName(name).addAllParkedIds(parkedIds.orElse(List.of())).build();
    return Operation.of(ConsumerServiceGrpc.getDeleteParkedChangesMethod(), request, DeleteParkedChangesResponse::getDeleted);
  }
}
