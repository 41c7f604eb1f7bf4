package dev.recollect;

import dev.recollect.v1.Change;
import io.grpc.SynchronizationContext;
import java.util.ArrayDeque;
import java.util.List;
import java.util.Objects;
import java.util.Queue;
import java.util.concurrent.CancellationException;
import java.util.concurrent.Flow;
import java.util.function.Supplier;

/** Changes for subscribers, each with a call of its own. Nothing is read from the server for which there is no demand. */
record ChangePublisher(Supplier<Feed<?, ?>> feeds) implements Flow.Publisher<Change> {
  @Override
  public void subscribe(Flow.Subscriber<? super Change> subscriber) {
    Objects.requireNonNull(subscriber, "subscriber");
    new Following(subscriber).start(feeds);
  }

  private static final class Following implements Flow.Subscription {
    private final Flow.Subscriber<? super Change> subscriber;
    private final SynchronizationContext serial = new SynchronizationContext(this::uncaught);
    private final Queue<Change> ready = new ArrayDeque<>();
    private volatile boolean done;
    private Feed<?, ?> feed;
    private long demand;
    private boolean asking;

    Following(Flow.Subscriber<? super Change> subscriber) {
      this.subscriber = subscriber;
    }

    /** A request that is made within onSubscribe waits for its end. */
    void start(Supplier<Feed<?, ?>> feeds) {
      serial.execute(
          () -> {
            IllegalStateException closed = null;
            try {
              feed = feeds.get();
            } catch (IllegalStateException error) {
              closed = error;
            }
            subscriber.onSubscribe(this);
            if (closed != null) {
              fail(closed);
            }
          });
    }

    @Override
    public void request(long n) {
      serial.execute(
          () -> {
            if (n <= 0) {
              fail(new IllegalArgumentException("request(%d): must be positive".formatted(n)));
            }
            demand = demand + n < 0 ? Long.MAX_VALUE : demand + n;
            deliver();
          });
    }

    @Override
    public void cancel() {
      done = true;
      serial.execute(this::release);
    }

    private void deliver() {
      while (!done && demand > 0 && !ready.isEmpty()) {
        demand--;
        subscriber.onNext(ready.remove());
      }
      if (!done && demand > 0 && !asking) {
        asking = true;
        feed.next().whenComplete((changes, error) -> serial.execute(() -> arrived(changes, error)));
      }
    }

    private void arrived(List<Change> changes, Throwable error) {
      asking = false;
      if (error != null) {
        fail(error);
      } else {
        ready.addAll(changes);
        deliver();
      }
    }

    private void fail(Throwable error) {
      if (!done && !(error instanceof CancellationException)) {
        done = true;
        release();
        subscriber.onError(error);
      }
    }

    private void release() {
      ready.clear();
      if (feed != null) {
        feed.close();
      }
    }

    /** A subscriber that throws has cancelled, says the contract; its error is for whoever handles those of threads. */
    private void uncaught(Thread thread, Throwable error) {
      cancel();
      thread.getUncaughtExceptionHandler().uncaughtException(thread, error);
    }
  }
}
