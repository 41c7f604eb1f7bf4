package dev.threadkeep.options;

import dev.threadkeep.internal.Protos;
import dev.threadkeep.v1.DeleteExpiredSessionsRequest;
import dev.threadkeep.v1.SessionRef;
import java.time.Instant;
import java.util.function.Consumer;

/** Options of deleting expired sessions. */
public final class ExpiredOptions extends Scoped<ExpiredOptions> {
  private final DeleteExpiredSessionsRequest.Builder request = DeleteExpiredSessionsRequest.newBuilder();

  /** Creates options without a setting. */
  public ExpiredOptions() {}

  /**
   * Changes the request, for fields without a method of their own.
   *
   * @param change called with the request
   * @return these options
   */
  public ExpiredOptions with(Consumer<DeleteExpiredSessionsRequest.Builder> change) {
    change.accept(request);
    return this;
  }

  /**
   * Deletes only sessions that expired by this time. Default: now.
   *
   * @param value latest expiry, inclusive; not in the future
   * @return these options
   */
  public ExpiredOptions before(Instant value) {
    request.setBefore(Protos.timestamp(value));
    return this;
  }

  /**
   * Returns the request with these options; the SDK calls it.
   *
   * @param owner app and user of the client
   * @return the request
   */
  public DeleteExpiredSessionsRequest request(SessionRef owner) {
    return scoped(request.build(), owner);
  }
}
