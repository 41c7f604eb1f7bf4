package dev.threadkeep.history;

import dev.threadkeep.Events;
import dev.threadkeep.internal.Protos;
import dev.threadkeep.v1.Expiry;
import dev.threadkeep.v1.ForkSessionRequest;
import dev.threadkeep.v1.SessionRef;
import java.time.Duration;
import java.time.Instant;
import java.util.function.Consumer;

/** Options of forking a session. The expiry of the session is not copied. */
public final class ForkOptions {
  private final ForkSessionRequest.Builder request = ForkSessionRequest.newBuilder().setOperationId(Events.newEventId());

  /** Creates options without a setting. */
  public ForkOptions() {}

  /**
   * Changes the request, for fields without a method of their own.
   *
   * @param change called with the request
   * @return these options
   */
  public ForkOptions with(Consumer<ForkSessionRequest.Builder> change) {
    change.accept(request);
    return this;
  }

  /**
   * Copies the session as of a point. Default: all of the present.
   *
   * @param point the last thing that the fork has
   * @return these options
   */
  public ForkOptions at(Point point) {
    point.set(request);
    return this;
  }

  /**
   * Expires the fork after this time from now. Default: the server's, 60 days.
   *
   * @param value time to live
   * @return these options
   */
  public ForkOptions ttl(Duration value) {
    request.setExpiry(Expiry.newBuilder().setTtl(Protos.duration(value)));
    return this;
  }

  /**
   * Expires the fork at this time.
   *
   * @param value time of the expiry
   * @return these options
   */
  public ForkOptions expireTime(Instant value) {
    request.setExpiry(Expiry.newBuilder().setExpireTime(Protos.timestamp(value)));
    return this;
  }

  /**
   * Keeps the fork until it is deleted.
   *
   * @return these options
   */
  public ForkOptions neverExpires() {
    request.setExpiry(Expiry.newBuilder().setNeverExpires(true));
    return this;
  }

  /**
   * Sets the metadata. Default: those of the session.
   *
   * @param json a JSON object, at most 256 KiB, stored verbatim; empty is none
   * @return these options
   */
  public ForkOptions metadata(String json) {
    request.setMetadataJson(json);
    return this;
  }

  /**
   * Adds a label to those of the session, or replaces it; at most 64.
   *
   * @param key name of the label
   * @param value its value
   * @return these options
   */
  public ForkOptions label(String key, String value) {
    request.putLabels(key, value);
    return this;
  }

  /**
   * Copies no labels of the session.
   *
   * @return these options
   */
  public ForkOptions withoutParentLabels() {
    request.setWithoutParentLabels(true);
    return this;
  }

  /**
   * Sets the default size of contexts. Default: that of the session.
   *
   * @param bytes size; 0 means the server's
   * @return these options
   */
  public ForkOptions contextBytes(long bytes) {
    request.setContextBytes(bytes);
    return this;
  }

  /**
   * Names the call; the session remembers the id. A repeated call with the same id returns the fork of the first one. Default: a
   * new id, so that the client's own retries are safe.
   *
   * @param id the id, at most 255 bytes
   * @return these options
   */
  public ForkOptions operationId(String id) {
    request.setOperationId(id);
    return this;
  }

  /**
   * Returns the request with these options; the SDK calls it.
   *
   * @param session the session
   * @param newSessionId id of the fork; empty for one that the server generates
   * @return the request
   */
  public ForkSessionRequest request(SessionRef session, String newSessionId) {
    return request.setSession(session).setNewSessionId(newSessionId).build();
  }
}
