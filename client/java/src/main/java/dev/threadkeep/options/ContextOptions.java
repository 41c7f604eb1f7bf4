package dev.threadkeep.options;

import dev.threadkeep.filter.MemoryProvider;
import dev.threadkeep.v1.GetContextRequest;
import dev.threadkeep.v1.SessionRef;
import java.util.function.Consumer;

/** Options of reading a context. */
public final class ContextOptions {
  private final GetContextRequest.Builder request = GetContextRequest.newBuilder();

  /** Creates options without a setting. */
  public ContextOptions() {}

  /**
   * Changes the request, for fields without a method of their own.
   *
   * @param change called with the request
   * @return these options
   */
  public ContextOptions with(Consumer<GetContextRequest.Builder> change) {
    change.accept(request);
    return this;
  }

  /**
   * Reads by this provider. Default: that of the handle.
   *
   * @param provider the provider
   * @return these options
   */
  public ContextOptions memory(MemoryProvider provider) {
    request.setSpec(provider.spec());
    return this;
  }

  /**
   * Reads as of the moment after the append or compaction that stored an event. Reasons: HISTORY_UNKNOWN.
   *
   * @param seq seq of the event, at least 1
   * @return these options
   */
  public ContextOptions asOfSeq(long seq) {
    request.setAsOfSeq(seq);
    return this;
  }

  /**
   * Reads as of the moment after the change that gave the session a log version. Reasons: HISTORY_UNKNOWN.
   *
   * @param version the log version; 0 is the empty log
   * @return these options
   */
  public ContextOptions asOfLogVersion(long version) {
    request.setAsOfLogVersion(version);
    return this;
  }

  /**
   * Returns the request with these options; the SDK calls it.
   *
   * @param session the session
   * @return the request
   */
  public GetContextRequest request(SessionRef session) {
    return request.setSession(session).build();
  }
}
