package dev.threadkeep.internal.operations;

import dev.threadkeep.ThreadkeepException;
import io.grpc.MethodDescriptor;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.Function;
import java.util.function.Supplier;

/**
 * An operation that runs without a thread of its own: each response starts what follows from it.
 *
 * @param <T> type of the result
 */
public final class Running<T> {
  /** A way to call a method without waiting. */
  @FunctionalInterface
  public interface Caller {
    /** Returns a future of the response, which may fail with ThreadkeepException. */
    <Q, R> CompletableFuture<R> callAsync(MethodDescriptor<Q, R> method, Q request);
  }

  private final Caller caller;
  private final CompletableFuture<T> outcome = new CompletableFuture<>();

  /** The call in progress. */
  private volatile CompletableFuture<?> current = outcome;

  private Running(Caller caller) {
    this.caller = caller;
  }

  /** Starts an operation. An exception of it fails the future; canceling the future cancels the call in progress. */
  public static <T> CompletableFuture<T> start(Caller caller, Supplier<Operation<T>> first) {
    var running = new Running<T>(caller);
    running.outcome.whenComplete((value, error) -> running.current.cancel(true)); // no effect unless it was canceled
    running.step(first);
    return running.outcome;
  }

  private void step(Supplier<Operation<T>> next) {
    if (outcome.isDone()) {
      return;
    }
    try {
      Operation<T> operation = next.get();
      if (operation instanceof Operation.Result<T> end) {
        outcome.complete(end.value());
      } else if (operation instanceof Operation.Call<?, ?, T> call) {
        send(call);
      } else {
        await((Operation.Answer<?, T>) operation);
      }
    } catch (CompletionException failure) {
      outcome.completeExceptionally(failure.getCause());
    } catch (RuntimeException | Error failure) {
      outcome.completeExceptionally(failure);
    }
  }

  private <Q, R> void send(Operation.Call<Q, R, T> call) {
    Function<Throwable, Operation<T>> otherwise =
        error -> {
          if (error instanceof ThreadkeepException typed) {
            return call.otherwise().apply(typed);
          }
          throw new CompletionException(error);
        };
    follow(caller.callAsync(call.method(), call.request()), call.then(), otherwise);
  }

  private <A> void await(Operation.Answer<A, T> asked) {
    follow(
        asked.answer().toCompletableFuture(),
        asked.then(),
        error -> {
          throw new CompletionException(error);
        });
  }

  private <A> void follow(CompletableFuture<A> answer, Function<A, Operation<T>> then, Function<Throwable, Operation<T>> otherwise) {
    current = answer;
    if (outcome.isDone()) { // it was canceled, perhaps before it could see this call
      answer.cancel(true);
    }
    answer.whenComplete((value, error) -> step(() -> error == null ? then.apply(value) : otherwise.apply(error)));
  }
}
