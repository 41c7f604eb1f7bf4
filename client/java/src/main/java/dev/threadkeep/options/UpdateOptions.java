package dev.threadkeep.options;

import dev.threadkeep.internal.Protos;
import dev.threadkeep.v1.Expiry;
import dev.threadkeep.v1.SessionRef;
import dev.threadkeep.v1.UpdateSessionRequest;
import java.time.Duration;
import java.time.Instant;
import java.util.Map;
import java.util.function.Consumer;

/** Options of updating a session: what is set is changed, and nothing else. */
public final class UpdateOptions {
  private final UpdateSessionRequest.Builder request = UpdateSessionRequest.newBuilder();

  /** Creates options without a setting. */
  public UpdateOptions() {}

  /**
   * Changes the request, for fields without a method of their own.
   *
   * @param change called with the request
   * @return these options
   */
  public UpdateOptions with(Consumer<UpdateSessionRequest.Builder> change) {
    change.accept(request);
    return this;
  }

  /**
   * Expires the session after this time from now. Default: the server's, 60 days.
   *
   * @param value time to live
   * @return these options
   */
  public UpdateOptions ttl(Duration value) {
    request.setExpiry(Expiry.newBuilder().setTtl(Protos.duration(value)));
    masked("expiry");
    return this;
  }

  /**
   * Expires the session at this time.
   *
   * @param value time of the expiry
   * @return these options
   */
  public UpdateOptions expireTime(Instant value) {
    request.setExpiry(Expiry.newBuilder().setExpireTime(Protos.timestamp(value)));
    masked("expiry");
    return this;
  }

  /**
   * Keeps the session until it is deleted.
   *
   * @return these options
   */
  public UpdateOptions neverExpires() {
    request.setExpiry(Expiry.newBuilder().setNeverExpires(true));
    masked("expiry");
    return this;
  }

  /**
   * Replaces the metadata.
   *
   * @param json a JSON object, stored verbatim; empty removes it
   * @return these options
   */
  public UpdateOptions metadata(String json) {
    request.setMetadataJson(json);
    masked("metadata_json");
    return this;
  }

  /**
   * Changes the metadata by a merge patch (RFC 7396).
   *
   * @param json a JSON object: its members replace those of the metadata, and null removes one
   * @return these options
   */
  public UpdateOptions metadataPatch(String json) {
    request.setMetadataPatchJson(json);
    return this;
  }

  /**
   * Replaces all labels.
   *
   * @param values the labels
   * @return these options
   */
  public UpdateOptions labels(Map<String, String> values) {
    request.clearLabels().putAllLabels(values);
    masked("labels");
    return this;
  }

  /**
   * Adds or replaces one label; the others stay.
   *
   * @param key name of the label
   * @param value its value
   * @return these options
   */
  public UpdateOptions setLabel(String key, String value) {
    request.putSetLabels(key, value);
    return this;
  }

  /**
   * Removes one label; the others stay.
   *
   * @param key name of the label
   * @return these options
   */
  public UpdateOptions removeLabel(String key) {
    request.addRemoveLabels(key);
    return this;
  }

  /**
   * Sets the default size of contexts.
   *
   * @param bytes size; 0 means the server's
   * @return these options
   */
  public UpdateOptions contextBytes(long bytes) {
    request.setContextBytes(bytes);
    masked("context_bytes");
    return this;
  }

  /**
   * Requires the session to have this etag; otherwise VERSION_MISMATCH: read it again and retry.
   *
   * @param value etag of the session that was read
   * @return these options
   */
  public UpdateOptions etag(String value) {
    request.setEtag(value);
    return this;
  }

  /**
   * Names the update. The server remembers the id; a repeated update with the same id and content changes nothing and returns the
   * session as it is now, also if its etag changed since. Default: none; every call updates. Reasons: OPERATION_CONFLICT.
   *
   * @param id the id, at most 255 bytes
   * @return these options
   */
  public UpdateOptions operationId(String id) {
    request.setOperationId(id);
    return this;
  }

  /**
   * Returns the request with these options; the SDK calls it.
   *
   * @param session the session
   * @return the request
   */
  public UpdateSessionRequest request(SessionRef session) {
    return request.setSession(session).build();
  }

  private void masked(String path) {
    if (!request.getUpdateMask().getPathsList().contains(path)) {
      request.getUpdateMaskBuilder().addPaths(path);
    }
  }
}
