package dev.threadkeep.adk;

import io.reactivex.rxjava3.core.Single;
import io.reactivex.rxjava3.schedulers.Schedulers;
import java.util.concurrent.Callable;

/** Calls of the blocking client as RxJava's. */
final class Rx {
  private Rx() {}

  /**
   * Returns a single that makes the call when it is subscribed to, on a thread of {@link Schedulers#io}, where what follows it runs.
   * Disposing it cancels the call.
   */
  static <T> Single<T> single(Callable<T> call) {
    return Single.<T>create(emitter -> {
      try {
        emitter.onSuccess(call.call());
      } catch (Exception error) {
        emitter.tryOnError(error); // nobody hears of it after a disposal
      }
    }).subscribeOn(Schedulers.io());
  }
}
