package dev.threadkeep;

import dev.threadkeep.v1.JoinConsumer;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;

/** A member that works for a consumer, from {@link ConsumerHandle#run}. Close it to leave. */
public final class ConsumerRun implements AutoCloseable {
  private final CompletableFuture<Void> done = new CompletableFuture<>();
  private final Deliveries deliveries;
  private final ExecutorService handlers;

  ConsumerRun(Connection connection, JoinConsumer join, int concurrency, ConsumerHandle.Handler handler) {
    var number = new AtomicInteger();
    handlers =
        Executors.newFixedThreadPool(
            concurrency,
            work -> {
              var thread = new Thread(work, "threadkeep-consumer-" + join.getName() + "-" + number.incrementAndGet());
              thread.setDaemon(true);
              return thread;
            });
    deliveries =
        new Deliveries(
            connection, join, concurrency, true, delivery -> handlers.execute(() -> handle(handler, delivery)), this::finish);
    deliveries.start();
  }

  private static void handle(ConsumerHandle.Handler handler, Delivery delivery) {
    try {
      handler.handle(delivery);
      delivery.acknowledge();
    } catch (ConsumerHandle.Park park) {
      delivery.park(String.valueOf(park.getMessage()));
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
      delivery.reject("interrupted");
    } catch (Exception | Error failure) {
      delivery.reject(failure.getClass().getSimpleName() + ": " + failure.getMessage());
    }
  }

  private void finish(Optional<ThreadkeepException> error) {
    handlers.shutdown();
    if (error.isPresent()) {
      done.completeExceptionally(error.get());
    } else {
      done.complete(null);
    }
  }

  /** Starts no more handlers; {@link #join()} waits for the running ones. */
  public void stop() {
    deliveries.stop();
  }

  /**
   * Waits until the member left or failed. Reasons: CONSUMER_MISMATCH, CONSUMER_NOT_FOUND when the consumer is deleted,
   * RESUME_POSITION_EXPIRED as in a watch, QUOTA_EXCEEDED.
   *
   * @throws ThreadkeepException if it failed
   */
  public void join() {
    try {
      done.join();
    } catch (CompletionException failure) {
      throw ThreadkeepException.from(failure.getCause());
    }
  }

  /**
   * Returns a future of the end.
   *
   * @return it fails with ThreadkeepException if the member failed
   */
  public CompletableFuture<Void> done() {
    return done.copy();
  }

  /**
   * Leaves: starts no more handlers, waits for the running ones, and at most 10 seconds until the server confirms their
   * acknowledgments. An error that ended it before is thrown only by {@link #join()}.
   */
  @Override
  public void close() {
    stop();
    done.handle((nothing, error) -> null).join();
  }
}
