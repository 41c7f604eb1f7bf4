package dev.threadkeep;

import dev.threadkeep.internal.operations.ConsumerOperations;
import dev.threadkeep.options.ConsumerOptions;
import dev.threadkeep.v1.DeleteConsumerResponse;
import dev.threadkeep.v1.GetConsumerResponse;
import dev.threadkeep.v1.ListParkedChangesResponse;
import dev.threadkeep.v1.ParkedChange;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Flow;
import java.util.function.Consumer;

/**
 * A handle on a named consumer: a subscription whose progress the server stores, and whose members share the changes. Creating
 * it makes no call.
 */
public final class ConsumerHandle {
  private final ThreadkeepClient client;
  private final String name;

  ConsumerHandle(ThreadkeepClient client, String name) {
    this.client = client;
    this.name = name;
  }

  /** Thrown by a handler to park its change at once: it is not delivered again until it is replayed. */
  public static final class Park extends Exception {
    private static final long serialVersionUID = 1L;

    /**
     * Parks the change.
     *
     * @param reason why, stored with the parked change
     */
    public Park(String reason) {
      super(reason);
    }
  }

  /** Handles deliveries. */
  @FunctionalInterface
  public interface Handler {
    /**
     * Handles a change. It is acknowledged when this returns, and rejected when this throws.
     *
     * @param delivery the change
     * @throws Exception to have it delivered again; {@link Park} to park it
     */
    void handle(Delivery delivery) throws Exception;
  }

  /** Handles deliveries without waiting. */
  @FunctionalInterface
  public interface AsyncHandler {
    /**
     * Starts handling a change. An exception is like a failed future.
     *
     * @param delivery the change
     * @return a future of the end; it fails to have the change delivered again, with {@link Park} to park it
     */
    CompletionStage<?> handle(Delivery delivery);
  }

  /**
   * Returns the name of the consumer.
   *
   * @return the name
   */
  public String name() {
    return name;
  }

  /**
   * Works for the consumer. See {@link #run(Handler, Consumer)}.
   *
   * @param handler called with every change
   * @return the work; close it
   */
  public ConsumerRun run(Handler handler) {
    return run(handler, o -> {});
  }

  /**
   * Works for the consumer: calls {@code handler} with every change, at least once, and acknowledges it when the handler returns.
   * Members of one name share the sessions. The changes of a session are delivered in order, one at a time. When the handler
   * throws, its change is delivered again after a pause, with the changes after it, and parked when it has failed maxAttempts
   * times; {@link Park} parks it at once.
   *
   * <p>When the stream breaks, or the member was too slow, it joins again, after pauses as in a watch and without limit. Running
   * handlers continue, and their sessions wait for them; their changes are delivered again.
   *
   * @param handler called by several threads
   * @param options sets the options, see {@link ConsumerOptions}
   * @return the work, which has started; close it
   */
  public ConsumerRun run(Handler handler, Consumer<ConsumerOptions> options) {
    var chosen = new ConsumerOptions();
    options.accept(chosen);
    return ConsumerRun.blocking(client.connection, chosen.join(name, client.whose), chosen.handlers(), handler);
  }

  /**
   * Works for the consumer like {@link #run(Handler, Consumer)}, with handlers that do not wait: a change is acknowledged when the
   * future of its handler completes, and rejected when it fails.
   *
   * @param handler called by one thread, which it must not block
   * @param options sets the options, see {@link ConsumerOptions}; the concurrency limits the futures that are not complete
   * @return the work, which has started; close it
   */
  public ConsumerRun runAsync(AsyncHandler handler, Consumer<ConsumerOptions> options) {
    var chosen = new ConsumerOptions();
    options.accept(chosen);
    return ConsumerRun.async(client.connection, chosen.join(name, client.whose), chosen.handlers(), handler);
  }

  /**
   * Returns the deliveries as a publisher. Each subscriber is a member. It receives as many deliveries as it requests, of one
   * partition one at a time, and must acknowledge or reject each. Canceling leaves the consumer; what is not acknowledged then is
   * delivered again. The concurrency of the options has no effect.
   *
   * @param options sets the options, see {@link ConsumerOptions}
   * @return the publisher
   */
  public Flow.Publisher<Delivery> publisher(Consumer<ConsumerOptions> options) {
    var chosen = new ConsumerOptions();
    options.accept(chosen);
    var join = chosen.join(name, client.whose);
    return subscriber -> DeliverySubscription.start(client.connection, join, subscriber);
  }

  /**
   * Returns the consumer, its members, its partitions and the number of parked changes. Reasons: CONSUMER_NOT_FOUND.
   *
   * @return the consumer
   */
  public GetConsumerResponse get() {
    return client.run(ConsumerOperations.get(name));
  }

  /**
   * Deletes the consumer, its progress and its parked changes.
   *
   * @return whether it existed
   */
  public DeleteConsumerResponse delete() {
    return client.run(ConsumerOperations.delete(name));
  }

  /**
   * Lists the parked changes, oldest first. Reasons: CONSUMER_NOT_FOUND.
   *
   * @return the changes, page by page
   */
  public Pages<ParkedChange> parked() {
    return new Pages<>(client, ConsumerOperations.parked(name));
  }

  /**
   * Returns one page of the parked changes. Reasons: CONSUMER_NOT_FOUND, INVALID_PAGE_TOKEN.
   *
   * @param pageSize size; 0 means 100
   * @param pageToken next_page_token of the page before it; empty for the first
   * @return the page
   */
  public ListParkedChangesResponse parkedPage(int pageSize, String pageToken) {
    return client.run(ConsumerOperations.parkedPage(name, pageSize, pageToken));
  }

  /**
   * Delivers all parked changes again, outside the order of their sessions. Reasons: CONSUMER_NOT_FOUND.
   *
   * @return number of the changes
   */
  public long replayParked() {
    return client.run(ConsumerOperations.replayParked(name, Optional.empty()));
  }

  /**
   * Delivers parked changes again, outside the order of their sessions. Reasons: CONSUMER_NOT_FOUND.
   *
   * @param parkedIds at most 1,000 ids; an empty list replays none
   * @return number of the changes; ids that are not parked do not count
   */
  public long replayParked(List<String> parkedIds) {
    return client.run(ConsumerOperations.replayParked(name, Optional.of(parkedIds)));
  }

  /**
   * Deletes all parked changes. Reasons: CONSUMER_NOT_FOUND.
   *
   * @return number of the changes
   */
  public long deleteParked() {
    return client.run(ConsumerOperations.deleteParked(name, Optional.empty()));
  }

  /**
   * Deletes parked changes. Reasons: CONSUMER_NOT_FOUND.
   *
   * @param parkedIds at most 1,000 ids; an empty list deletes none
   * @return number of the changes
   */
  public long deleteParked(List<String> parkedIds) {
    return client.run(ConsumerOperations.deleteParked(name, Optional.of(parkedIds)));
  }
}
