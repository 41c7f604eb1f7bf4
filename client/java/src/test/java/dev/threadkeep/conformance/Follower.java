package dev.threadkeep.conformance;

import dev.threadkeep.Changes;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.Flow;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.function.Consumer;

/** A watch: the thread that reads it waits for the next change until it is closed. */
interface Follower {
  void forEach(Consumer<Object> action);

  void close();

  static Follower of(Changes changes) {
    return new Follower() {
      @Override
      public void forEach(Consumer<Object> action) {
        changes.forEachRemaining(action);
      }

      @Override
      public void close() {
        changes.close();
      }
    };
  }

  static <T> Follower of(Flow.Publisher<T> publisher) {
    var subscriber = new Subscriber<T>();
    publisher.subscribe(subscriber);
    return subscriber;
  }

  /** A subscriber that a thread reads. */
  final class Subscriber<T> implements Flow.Subscriber<T>, Follower {
    private final BlockingQueue<CompletableFuture<Optional<T>>> items = new LinkedBlockingQueue<>();
    private volatile Flow.Subscription subscription;

    /** Waits for the next item; empty at the end. */
    Optional<T> next() {
      subscription.request(1);
      try {
        return items.take().join();
      } catch (CompletionException failure) {
        throw failure.getCause() instanceof RuntimeException error ? error : failure;
      } catch (InterruptedException interrupted) {
        throw new IllegalStateException(interrupted);
      }
    }

    @Override
    public void onSubscribe(Flow.Subscription given) {
      subscription = given;
    }

    @Override
    public void onNext(T item) {
      items.add(CompletableFuture.completedFuture(Optional.of(item)));
    }

    @Override
    public void onError(Throwable error) {
      items.add(CompletableFuture.failedFuture(error));
    }

    @Override
    public void onComplete() {
      items.add(CompletableFuture.completedFuture(Optional.empty()));
    }

    @Override
    public void forEach(Consumer<Object> action) {
      for (var item = next(); item.isPresent(); item = next()) {
        action.accept(item.get());
      }
    }

    @Override
    public void close() {
      subscription.cancel();
      onComplete();
    }
  }
}
