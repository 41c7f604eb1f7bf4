package dev.threadkeep.options;

import dev.threadkeep.filter.EventFilters;
import dev.threadkeep.internal.Protos;
import dev.threadkeep.v1.ChangeScope;
import dev.threadkeep.v1.JoinConsumer;
import dev.threadkeep.v1.SessionRef;
import java.time.Duration;
import java.util.function.Consumer;

/** Options of a member of a consumer. All members must have the same scope, labels and filter. */
public final class ConsumerOptions extends Scoped<ConsumerOptions> {
  private final JoinConsumer.Builder join = JoinConsumer.newBuilder();
  private final ChangeScope.Builder scope = ChangeScope.newBuilder();
  private int concurrency = 8;

  /** Creates options without a setting. */
  public ConsumerOptions() {}

  /**
   * Changes the request, for fields without a method of their own.
   *
   * @param change called with the request
   * @return these options
   */
  public ConsumerOptions with(Consumer<JoinConsumer.Builder> change) {
    change.accept(join);
    return this;
  }

  /**
   * Sets how many handlers run at the same time, for different sessions. Default: 8.
   *
   * @param handlers number of handlers, at least 1
   * @return these options
   */
  public ConsumerOptions concurrency(int handlers) {
    if (handlers < 1) {
      throw new IllegalArgumentException("concurrency must be at least 1");
    }
    this.concurrency = handlers;
    return this;
  }

  /**
   * Delivers only changes of sessions with this label; several labels must all be there.
   *
   * @param key name of the label
   * @param value its value
   * @return these options
   */
  public ConsumerOptions label(String key, String value) {
    scope.putLabels(key, value);
    return this;
  }

  /**
   * Delivers only events that match; lastN and page are not allowed. Default: all.
   *
   * @param value the filter
   * @return these options
   */
  public ConsumerOptions filter(EventFilters value) {
    join.setFilter(value.build());
    return this;
  }

  /**
   * Starts a new consumer at the beginning of the feed. Default: with changes committed from now on.
   *
   * @return these options
   */
  public ConsumerOptions fromBeginning() {
    join.setFromBeginning(true);
    return this;
  }

  /**
   * Sets the id of this member, which operators see. Default: one from the server.
   *
   * @param id the id
   * @return these options
   */
  public ConsumerOptions memberId(String id) {
    join.setMemberId(id);
    return this;
  }

  /**
   * Sets the maximum number of unacknowledged deliveries. Default: 256; at most 10,000.
   *
   * @param deliveries number of deliveries
   * @return these options
   */
  public ConsumerOptions maxOutstanding(int deliveries) {
    join.setMaxOutstanding(deliveries);
    return this;
  }

  /**
   * Parks a change after this many failures. Only the first member sets it. Default: 5; at most 1,000.
   *
   * @param attempts number of attempts
   * @return these options
   */
  public ConsumerOptions maxAttempts(int attempts) {
    join.setMaxAttempts(attempts);
    return this;
  }

  /**
   * Sets the time for each delivery. Only the first member sets it. Default: 60 seconds; 1 second to 1 day.
   *
   * @param value the time
   * @return these options
   */
  public ConsumerOptions ackTimeout(Duration value) {
    join.setAckTimeout(Protos.duration(value));
    return this;
  }

  /**
   * Sets the number of partitions, which limits how many handlers run at the same time. Only the first member sets it. Default: 32; at most 256.
   *
   * @param count number of partitions
   * @return these options
   */
  public ConsumerOptions partitions(int count) {
    join.setPartitions(count);
    return this;
  }

  /**
   * Returns the request with these options; the SDK calls it.
   *
   * @param name name of the consumer
   * @param owner app and user of the client
   * @return the request
   */
  public JoinConsumer join(String name, SessionRef owner) {
    return join.setName(name).setScope(scoped(scope.build(), owner)).build();
  }

  /**
   * Returns how many handlers run at the same time; the SDK calls it.
   *
   * @return number of handlers
   */
  public int handlers() {
    return concurrency;
  }
}
