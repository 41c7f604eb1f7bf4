package dev.threadkeep.options;

import dev.threadkeep.v1.DeleteByLabelRequest;
import dev.threadkeep.v1.DeleteUserRequest;
import dev.threadkeep.v1.ErasureReceipt;
import dev.threadkeep.v1.SessionRef;
import java.util.Map;
import java.util.function.Consumer;

/** Options of an erasure. */
public final class ErasureOptions extends Scoped<ErasureOptions> {
  private String requestId = "";
  private boolean memories;
  private Consumer<ErasureReceipt> progress = receipt -> {};

  /** Creates options without a setting. */
  public ErasureOptions() {}

  /**
   * Sets the id of the request. A repeated request with the same id and scope continues after a failure, and returns the same receipt for 30 days; without an id, it erases again.
   *
   * @param id at most 255 bytes
   * @return these options
   */
  public ErasureOptions requestId(String id) {
    this.requestId = id;
    return this;
  }

  /**
   * Also deletes the memories that came from the sessions, where labels select them; else they are deleted anyway.
   *
   * @return these options
   */
  public ErasureOptions purgeMemories() {
    this.memories = true;
    return this;
  }

  /**
   * Calls this after each call to the server.
   *
   * @param listener called with the receipt so far
   * @return these options
   */
  public ErasureOptions progress(Consumer<ErasureReceipt> listener) {
    this.progress = listener;
    return this;
  }

  /**
   * Returns the request of an erasure by labels; the SDK calls it.
   *
   * @param labels labels of the sessions
   * @param owner app and user of the client
   * @return the request
   */
  public DeleteByLabelRequest ofLabels(Map<String, String> labels, SessionRef owner) {
    var request = DeleteByLabelRequest.newBuilder().putAllLabels(labels).setPurgeMemories(memories).setRequestId(requestId);
    return scoped(request.build(), owner);
  }

  /**
   * Returns the request of an erasure of a user; the SDK calls it.
   *
   * @param userId the user
   * @param owner app and user of the client
   * @return the request
   */
  public DeleteUserRequest ofUser(String userId, SessionRef owner) {
    return scoped(DeleteUserRequest.newBuilder().setUserId(userId).setRequestId(requestId).build(), owner);
  }

  /**
   * Returns the id of the request; the SDK calls it.
   *
   * @return the id, empty without one
   */
  public String id() {
    return requestId;
  }

  /**
   * Reports the receipt so far; the SDK calls it.
   *
   * @param receipt what was deleted
   */
  public void report(ErasureReceipt receipt) {
    progress.accept(receipt);
  }
}
