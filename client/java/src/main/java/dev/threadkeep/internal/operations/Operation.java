package dev.threadkeep.internal.operations;

import dev.threadkeep.ThreadkeepException;
import io.grpc.MethodDescriptor;
import java.util.concurrent.CompletionStage;
import java.util.function.Consumer;
import java.util.function.Function;

/**
 * What a method of a handle does, as data: calls, and what follows from their responses. The blocking client runs it on the thread
 * of its caller, the asynchronous one by callbacks. What follows may throw, which ends the operation with that error.
 *
 * @param <T> type of the result
 */
public sealed interface Operation<T> {
  /** A way to call a method and to wait for its response. */
  interface Caller {
    /** Returns the response, or throws ThreadkeepException. */
    <Q, R> R call(MethodDescriptor<Q, R> method, Q request);
  }

  /** The end, with its result. */
  record Result<T>(T value) implements Operation<T> {}

  /** A call, what follows from its response, and what follows from its error. */
  record Call<Q, R, T>(
      MethodDescriptor<Q, R> method, Q request, Function<R, Operation<T>> then, Function<ThreadkeepException, Operation<T>> otherwise)
      implements Operation<T> {
    private Operation<T> next(Caller caller) {
      R response;
      try {
        response = caller.call(method, request);
      } catch (ThreadkeepException error) {
        return otherwise.apply(error);
      }
      return then.apply(response);
    }
  }

  /** An answer of the caller's code, and what follows from it. In the blocking client it is there already. */
  record Answer<A, T>(CompletionStage<A> answer, Function<A, Operation<T>> then) implements Operation<T> {
    private Operation<T> next() {
      return then.apply(answer.toCompletableFuture().join());
    }
  }

  /** Returns the call of a method, whose result is read from the response. */
  static <Q, R, T> Operation<T> of(MethodDescriptor<Q, R> method, Q request, Function<R, T> read) {
    return call(method, request, response -> new Result<>(read.apply(response)));
  }

  /** Returns the call of a method, whose result is the response. */
  static <Q, R> Operation<R> of(MethodDescriptor<Q, R> method, Q request) {
    return of(method, request, response -> response);
  }

  /** Returns the call of a method, and what follows from its response. An error ends the operation. */
  static <Q, R, T> Operation<T> call(MethodDescriptor<Q, R> method, Q request, Function<R, Operation<T>> then) {
    return new Call<>(
        method,
        request,
        then,
        error -> {
          throw error;
        });
  }

  /** Returns new options that the caller has set. */
  static <O> O chosen(O options, Consumer<? super O> set) {
    set.accept(options);
    return options;
  }

  /** Runs the operation on this thread and returns its result. */
  static <T> T run(Operation<T> first, Caller caller) {
    Operation<T> operation = first;
    while (true) {
      if (operation instanceof Result<T> end) {
        return end.value();
      }
      operation = operation instanceof Call<?, ?, T> call ? call.next(caller) : ((Answer<?, T>) operation).next();
    }
  }
}
