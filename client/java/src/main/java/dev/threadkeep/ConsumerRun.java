package dev.threadkeep;

import dev.threadkeep.internal.Connection;
import dev.threadkeep.internal.Deliveries;
import dev.threadkeep.v1.JoinConsumer;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;

/** A member that works for a consumer, from {@link ConsumerHandle#run}. Close it to leave. */
public final class ConsumerRun implements AutoCloseable {
  private final CompletableFuture<Void> done = new CompletableFuture<>();
  private final Deliveries deliveries;

  /** Starts a member that passes at most {@code concurrency} unsettled deliveries to {@code work}, which settles them. */
  private ConsumerRun(Connection connection, JoinConsumer join, int concurrency, Consumer<Delivery> work, Runnable ended) {
    deliveries =
        new Deliveries(
            connection, join, concurrency, true,
            (delivery, member, settled) -> work.accept(new Delivery(delivery, member, settled)),
            error -> finish(error, ended));
    deliveries.start();
  }

  /** Starts a member whose handlers run on threads of its own. */
  static ConsumerRun blocking(Connection connection, JoinConsumer join, int concurrency, ConsumerHandle.Handler handler) {
    var number = new AtomicInteger();
    var handlers =
        Executors.newFixedThreadPool(
            concurrency,
            work -> {
              var thread = new Thread(work, "threadkeep-consumer-" + join.getName() + "-" + number.incrementAndGet());
              thread.setDaemon(true);
              return thread;
            });
    Consumer<Delivery> work = delivery -> handlers.execute(() -> handle(handler, delivery));
    return new ConsumerRun(connection, join, concurrency, work, handlers::shutdown);
  }

  /** Starts a member whose handlers run where they want. */
  static ConsumerRun async(Connection connection, JoinConsumer join, int concurrency, ConsumerHandle.AsyncHandler handler) {
    return new ConsumerRun(connection, join, concurrency, delivery -> start(handler, delivery), () -> {});
  }

  private static void handle(ConsumerHandle.Handler handler, Delivery delivery) {
    try {
      handler.handle(delivery);
      delivery.acknowledge();
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
      delivery.reject("interrupted");
    } catch (Exception | Error failure) {
      reject(delivery, failure);
    }
  }

  private static void start(ConsumerHandle.AsyncHandler handler, Delivery delivery) {
    try {
      handler.handle(delivery).whenComplete((nothing, error) -> {
        if (error == null) {
          delivery.acknowledge();
        } else {
          reject(delivery, error instanceof CompletionException && error.getCause() != null ? error.getCause() : error);
        }
      });
    } catch (RuntimeException | Error failure) {
      reject(delivery, failure);
    }
  }

  private static void reject(Delivery delivery, Throwable failure) {
    if (failure instanceof ConsumerHandle.Park) {
      delivery.park(String.valueOf(failure.getMessage()));
    } else {
      delivery.reject(failure.getClass().getSimpleName() + ": " + failure.getMessage());
    }
  }

  private void finish(Optional<ThreadkeepException> error, Runnable ended) {
    ended.run();
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
   * acknowledgments. An error that ended it before is thrown only by {@link #join()}. To leave without waiting, {@link #stop()}.
   */
  @Override
  public void close() {
    stop();
    done.handle((nothing, error) -> null).join();
  }
}
