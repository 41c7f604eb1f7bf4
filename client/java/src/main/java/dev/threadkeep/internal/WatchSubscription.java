package dev.threadkeep.internal;

import dev.threadkeep.v1.Change;
import java.time.Duration;
import java.util.Objects;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Flow;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

/** A subscriber of a watch. It has no thread of its own. */
public final class WatchSubscription extends Emitter<Change> {
  /** Signals of the connection. There are few: the watch limits its frames. */
  private final Queue<Runnable> news = new ConcurrentLinkedQueue<>();

  private final Supplier<Watch> opening;
  private Watch watch;

  /** Whether the subscriber was busy since the last wait for a frame. */
  private boolean busy;

  /** When the last timer rings, by nanoTime. */
  private long alarm = System.nanoTime();

  private WatchSubscription(Flow.Subscriber<? super Change> subscriber, Connection connection, Watch.Source<?, ?> source, Duration silence) {
    super(subscriber);
    this.opening = () -> new Watch(connection, source, silence, this::signal);
  }

  /** Returns a publisher. Each of its subscribers watches by itself, from its subscription on. */
  public static Flow.Publisher<Change> publisher(Connection connection, Watch.Source<?, ?> source, Duration silence) {
    return subscriber -> {
      var subscription = new WatchSubscription(Objects.requireNonNull(subscriber, "subscriber"), connection, source, silence);
      subscriber.onSubscribe(subscription);
      subscription.wake();
    };
  }

  private void signal(Runnable what) {
    news.add(what);
    wake();
  }

  /** Works like the loop of a reader: signals are handled as long as no change is ready. */
  @Override
  protected boolean prepare(boolean wanted) {
    if (watch == null) {
      watch = opening.get();
    }
    if (!watch.isReady() && busy) {
      busy = false;
      watch.expectAFrame();
    }
    while (!watch.isReady() && watch.error().isEmpty()) {
      Runnable reported = news.poll();
      if (reported != null) {
        reported.run();
      } else if (watch.patience() <= 0) {
        watch.elapsed();
      } else {
        ring(watch.patience());
        return false;
      }
    }
    if (!watch.isReady()) {
      end(watch.error().get());
      return false;
    }
    return true;
  }

  /** Wakes this after a while, unless an earlier timer does. */
  private void ring(long nanos) {
    long now = System.nanoTime();
    if (alarm - now <= 0 || alarm - now > nanos) {
      alarm = now + nanos;
      CompletableFuture.delayedExecutor(nanos, TimeUnit.NANOSECONDS, Runnable::run).execute(this::wake);
    }
  }

  @Override
  protected Change take() {
    busy = true;
    return watch.take();
  }

  @Override
  protected void release() {
    if (watch != null) {
      watch.close();
    }
    news.clear();
  }
}
