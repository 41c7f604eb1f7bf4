package dev.threadkeep.options;

import dev.threadkeep.internal.Protos;
import dev.threadkeep.v1.CreateSessionRequest;
import dev.threadkeep.v1.Expiry;
import dev.threadkeep.v1.SessionParent;
import dev.threadkeep.v1.SessionRef;
import java.time.Duration;
import java.time.Instant;
import java.util.function.Consumer;

/** Options of creating a session. */
public final class CreateOptions {
  private final CreateSessionRequest.Builder request = CreateSessionRequest.newBuilder();

  /** Creates options without a setting. */
  public CreateOptions() {}

  /**
   * Changes the request, for fields without a method of their own.
   *
   * @param change called with the request
   * @return these options
   */
  public CreateOptions with(Consumer<CreateSessionRequest.Builder> change) {
    change.accept(request);
    return this;
  }

  /**
   * Expires the session after this time from now. Default: the server's, 60 days.
   *
   * @param value time to live
   * @return these options
   */
  public CreateOptions ttl(Duration value) {
    request.setExpiry(Expiry.newBuilder().setTtl(Protos.duration(value)));
    return this;
  }

  /**
   * Expires the session at this time.
   *
   * @param value time of the expiry
   * @return these options
   */
  public CreateOptions expireTime(Instant value) {
    request.setExpiry(Expiry.newBuilder().setExpireTime(Protos.timestamp(value)));
    return this;
  }

  /**
   * Keeps the session until it is deleted.
   *
   * @return these options
   */
  public CreateOptions neverExpires() {
    request.setExpiry(Expiry.newBuilder().setNeverExpires(true));
    return this;
  }

  /**
   * Sets the metadata.
   *
   * @param json a JSON object, at most 256 KiB, stored verbatim
   * @return these options
   */
  public CreateOptions metadata(String json) {
    request.setMetadataJson(json);
    return this;
  }

  /**
   * Adds a label; at most 64.
   *
   * @param key name of the label
   * @param value its value
   * @return these options
   */
  public CreateOptions label(String key, String value) {
    request.putLabels(key, value);
    return this;
  }

  /**
   * Sets a first value of the session's state; at most 1,000.
   *
   * @param key its key
   * @param json JSON text of the value, stored verbatim
   * @return these options
   */
  public CreateOptions state(String key, String json) {
    request.putState(key, json);
    return this;
  }

  /**
   * Sets the default size of contexts.
   *
   * @param bytes size; 0 means the server's
   * @return these options
   */
  public CreateOptions contextBytes(long bytes) {
    request.setContextBytes(bytes);
    return this;
  }

  /**
   * Sets the start of an imported conversation. Default: now.
   *
   * @param value start
   * @return these options
   */
  public CreateOptions createTime(Instant value) {
    request.setCreateTime(Protos.timestamp(value));
    return this;
  }

  /**
   * Names the origin of an imported session that is a fork: a record for lists of forks, which the server does not look up.
   *
   * @param value the origin, with at least its session id and uid; its app and user are those of the session, or empty
   * @return these options
   */
  public CreateOptions parent(SessionParent value) {
    request.setParent(value);
    return this;
  }

  /**
   * Fails with SESSION_ALREADY_EXISTS if another user of the app has a session with this id.
   *
   * @return these options
   */
  public CreateOptions uniqueInApp() {
    request.setUniqueInApp(true);
    return this;
  }

  /**
   * Returns an existing session unchanged instead of failing with SESSION_ALREADY_EXISTS.
   *
   * @return these options
   */
  public CreateOptions returnExisting() {
    request.setReturnExisting(true);
    return this;
  }

  /**
   * Returns the request with these options; the SDK calls it.
   *
   * @param session the session
   * @return the request
   */
  public CreateSessionRequest request(SessionRef session) {
    return request.setSession(session).build();
  }
}
