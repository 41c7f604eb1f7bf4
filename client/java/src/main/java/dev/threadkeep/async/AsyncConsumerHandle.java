package dev.threadkeep.async;

import dev.threadkeep.ConsumerHandle;
import dev.threadkeep.ConsumerRun;
import dev.threadkeep.Delivery;
import dev.threadkeep.internal.operations.ConsumerOperations;
import dev.threadkeep.options.ConsumerOptions;
import dev.threadkeep.v1.DeleteConsumerResponse;
import dev.threadkeep.v1.GetConsumerResponse;
import dev.threadkeep.v1.ListParkedChangesResponse;
import dev.threadkeep.v1.ParkedChange;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Flow;
import java.util.function.Consumer;

/**
 * A handle on a named consumer: a subscription whose progress the server stores, and whose members share the changes. Creating
 * it makes no call.
 *
 * @see ConsumerHandle
 */
public final class AsyncConsumerHandle {
  private final AsyncCalls client;
  private final ConsumerHandle consumer;
  private final String name;

  AsyncConsumerHandle(AsyncCalls client, String name) {
    this.client = client;
    this.consumer = client.client.consumer(name);
    this.name = name;
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
   * Works for the consumer. See {@link ConsumerHandle#runAsync}.
   *
   * @param handler called with every change by one thread, which it must not block; the change is acknowledged when its future
   *     completes, and rejected when it fails
   * @param options sets the options, see {@link ConsumerOptions}; the concurrency limits the futures that are not complete
   * @return the work, which has started; {@link ConsumerRun#stop()} leaves, {@link ConsumerRun#done()} is a future of the end
   */
  public ConsumerRun run(ConsumerHandle.AsyncHandler handler, Consumer<ConsumerOptions> options) {
    return consumer.runAsync(handler, options);
  }

  /**
   * Returns the deliveries as a publisher. Each subscriber is a member, and must acknowledge or reject each delivery. See {@link
   * ConsumerHandle#publisher}.
   *
   * @param options sets the options, see {@link ConsumerOptions}; the concurrency has no effect
   * @return the publisher
   */
  public Flow.Publisher<Delivery> publisher(Consumer<ConsumerOptions> options) {
    return consumer.publisher(options);
  }

  /**
   * Returns the consumer, its members, its partitions and the number of parked changes. Reasons: CONSUMER_NOT_FOUND.
   *
   * @return a future of the consumer
   */
  public CompletableFuture<GetConsumerResponse> get() {
    return client.start(() -> ConsumerOperations.get(name));
  }

  /**
   * Deletes the consumer, its progress and its parked changes.
   *
   * @return a future of whether it existed
   */
  public CompletableFuture<DeleteConsumerResponse> delete() {
    return client.start(() -> ConsumerOperations.delete(name));
  }

  /**
   * Lists the parked changes, oldest first. Reasons: CONSUMER_NOT_FOUND.
   *
   * @return the changes
   */
  public AsyncPages<ParkedChange> parked() {
    return new AsyncPages<>(client, ConsumerOperations.parked(name));
  }

  /**
   * Returns one page of the parked changes. Reasons: CONSUMER_NOT_FOUND, INVALID_PAGE_TOKEN.
   *
   * @param pageSize size; 0 means 100
   * @param pageToken next_page_token of the page before it; empty for the first
   * @return a future of the page
   */
  public CompletableFuture<ListParkedChangesResponse> parkedPage(int pageSize, String pageToken) {
    return client.start(() -> ConsumerOperations.parkedPage(name, pageSize, pageToken));
  }

  /**
   * Delivers all parked changes again, outside the order of their sessions. Reasons: CONSUMER_NOT_FOUND.
   *
   * @return a future of the number of the changes
   */
  public CompletableFuture<Long> replayParked() {
    return client.start(() -> ConsumerOperations.replayParked(name, Optional.empty()));
  }

  /**
   * Delivers parked changes again, outside the order of their sessions. Reasons: CONSUMER_NOT_FOUND.
   *
   * @param parkedIds at most 1,000 ids; an empty list replays none
   * @return a future of the number of the changes; ids that are not parked do not count
   */
  public CompletableFuture<Long> replayParked(List<String> parkedIds) {
    return client.start(() -> ConsumerOperations.replayParked(name, Optional.of(parkedIds)));
  }

  /**
   * Deletes all parked changes. Reasons: CONSUMER_NOT_FOUND.
   *
   * @return a future of the number of the changes
   */
  public CompletableFuture<Long> deleteParked() {
    return client.start(() -> ConsumerOperations.deleteParked(name, Optional.empty()));
  }

  /**
   * Deletes parked changes. Reasons: CONSUMER_NOT_FOUND.
   *
   * @param parkedIds at most 1,000 ids; an empty list deletes none
   * @return a future of the number of the changes
   */
  public CompletableFuture<Long> deleteParked(List<String> parkedIds) {
    return client.start(() -> ConsumerOperations.deleteParked(name, Optional.of(parkedIds)));
  }
}
