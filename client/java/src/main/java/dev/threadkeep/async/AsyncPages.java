package dev.threadkeep.async;

import dev.threadkeep.internal.Emitter;
import dev.threadkeep.internal.operations.Listing;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.Flow;
import java.util.function.Consumer;

/**
 * The items of a list, as a publisher. Each subscriber reads from the first page; a page is fetched when it requests an item that is
 * not there yet, with a timeout of its own. It is called on the default executor of CompletableFuture, which it must not block, and
 * may fail with {@link dev.threadkeep.ThreadkeepException}. Canceling cancels the call in progress.
 *
 * @param <T> type of the items
 */
public final class AsyncPages<T> implements Flow.Publisher<T> {
  private final AsyncCalls client;
  private final Listing<T> listing;

  AsyncPages(AsyncCalls client, Listing<T> listing) {
    this.client = client;
    this.listing = listing;
  }

  @Override
  public void subscribe(Flow.Subscriber<? super T> subscriber) {
    var subscription = new Subscription(Objects.requireNonNull(subscriber, "subscriber"));
    subscriber.onSubscribe(subscription);
  }

  /**
   * Returns all items.
   *
   * @return a future of the items; canceling it stops
   */
  public CompletableFuture<List<T>> toList() {
    return toList(Long.MAX_VALUE);
  }

  /**
   * Returns the first items.
   *
   * @param limit maximum number of items, at least 0; pages beyond it are not fetched
   * @return a future of the items; canceling it stops
   */
  public CompletableFuture<List<T>> toList(long limit) {
    var items = new ArrayList<T>();
    return each(limit, items::add, items);
  }

  /**
   * Calls a function with each item, one after another.
   *
   * @param action called on the default executor of CompletableFuture; an exception ends it
   * @return a future of the end; canceling it stops
   */
  public CompletableFuture<Void> forEach(Consumer<? super T> action) {
    return each(Long.MAX_VALUE, action, null);
  }

  private <R> CompletableFuture<R> each(long limit, Consumer<? super T> action, R result) {
    var outcome = new CompletableFuture<R>();
    if (limit == 0) {
      outcome.complete(result);
      return outcome;
    }
    subscribe(
        new Flow.Subscriber<T>() {
          private long left = limit;

          @Override
          public void onSubscribe(Flow.Subscription subscription) {
            outcome.whenComplete((value, error) -> subscription.cancel());
            subscription.request(limit);
          }

          @Override
          public void onNext(T item) {
            action.accept(item);
            if (--left == 0) {
              outcome.complete(result);
            }
          }

          @Override
          public void onError(Throwable error) {
            outcome.completeExceptionally(error);
          }

          @Override
          public void onComplete() {
            outcome.complete(result);
          }
        });
    return outcome;
  }

  /** A subscriber and its place in the list. */
  private final class Subscription extends Emitter<T> {
    private Iterator<T> items = Collections.emptyIterator();
    private String token = "";
    private boolean more = true;

    /** The next page; null if it is not called for. */
    private CompletableFuture<Listing.Page<T>> fetching;

    Subscription(Flow.Subscriber<? super T> subscriber) {
      super(subscriber);
    }

    @Override
    protected boolean prepare(boolean wanted) {
      while (!items.hasNext()) {
        if (!more) {
          end(null);
          return false;
        }
        if (fetching == null && wanted) {
          fetching = client.start(() -> listing.page(token));
          fetching.whenComplete((page, error) -> wake());
        }
        if (fetching == null || !fetching.isDone()) {
          return false;
        }
        try {
          received(fetching.join());
        } catch (CompletionException failure) {
          end(failure.getCause());
          return false;
        }
      }
      return true;
    }

    private void received(Listing.Page<T> page) {
      items = page.items().iterator();
      token = page.next();
      more = !token.isEmpty();
      fetching = null;
    }

    @Override
    protected T take() {
      return items.next();
    }

    @Override
    protected void release() {
      if (fetching != null) {
        fetching.cancel(true);
      }
    }
  }
}
