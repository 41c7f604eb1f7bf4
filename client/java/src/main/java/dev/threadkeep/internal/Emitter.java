package dev.threadkeep.internal;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.Flow;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/**
 * A subscription whose source is called for items by one thread at a time, on the default executor of CompletableFuture: after each
 * request of the subscriber and each signal of the source.
 *
 * @param <T> type of the items
 */
public abstract class Emitter<T> implements Flow.Subscription {
  private static final Executor EXECUTOR = new CompletableFuture<Void>().defaultExecutor();

  private final Flow.Subscriber<? super T> subscriber;
  private final AtomicLong demand = new AtomicLong();

  /** Number of signals that are not handled yet. The one that finds none starts the work. */
  private final AtomicInteger signals = new AtomicInteger();

  private volatile boolean canceled;
  private volatile boolean invalid;

  /** Of the working thread alone. */
  private boolean over;

  /** Creates the subscription of a subscriber. */
  protected Emitter(Flow.Subscriber<? super T> subscriber) {
    this.subscriber = subscriber;
  }

  /**
   * Makes an item ready if it can without waiting, or ends the subscription.
   *
   * @param wanted whether the subscriber requested an item
   * @return whether an item is ready; if not, a {@link #wake()} follows
   */
  protected abstract boolean prepare(boolean wanted);

  /** Returns the item that is ready. */
  protected abstract T take();

  /** Releases the source. Called once. */
  protected abstract void release();

  /** Calls the source again. Any thread may do it. */
  protected final void wake() {
    if (signals.getAndIncrement() == 0) {
      EXECUTOR.execute(this::work);
    }
  }

  /** Ends the subscription; null is no error. The source calls it in {@link #prepare}. */
  protected final void end(Throwable error) {
    over = true;
    release();
    if (error == null) {
      subscriber.onComplete();
    } else {
      subscriber.onError(error);
    }
  }

  @Override
  public final void request(long n) {
    if (n > 0) {
      demand.accumulateAndGet(n, (before, more) -> before + more < 0 ? Long.MAX_VALUE : before + more);
    } else {
      invalid = true;
    }
    wake();
  }

  @Override
  public final void cancel() {
    canceled = true;
    wake();
  }

  private void work() {
    int handled = signals.get();
    do {
      emit();
      handled = signals.addAndGet(-handled);
    } while (handled != 0);
  }

  /** Delivers what is ready and requested. */
  private void emit() {
    while (!over) {
      try {
        if (canceled) {
          over = true;
          release();
        } else if (invalid) {
          end(new IllegalArgumentException("a subscriber must request at least 1"));
        } else if (!prepare(demand.get() > 0) || demand.get() == 0) {
          return;
        } else {
          demand.accumulateAndGet(1, (before, one) -> before == Long.MAX_VALUE ? before : before - one);
          subscriber.onNext(take());
        }
      } catch (RuntimeException | Error failure) { // of the source, or of a subscriber that breaks its contract
        if (!over) {
          end(failure);
        }
      }
    }
  }
}
