import dev.threadkeep.Events;
import dev.threadkeep.ThreadkeepClient;
import dev.threadkeep.ThreadkeepException;
import dev.threadkeep.options.Start;
import dev.threadkeep.v1.Change;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Flow;

/** Appends, reads, watches and handles an error without waiting for any of it, except at the end of each step. */
public final class AsyncQuickstart {
  private AsyncQuickstart() {}

  /** Runs the example. THREADKEEP_ADDRESS specifies the server; default: the local one. */
  public static void main(String[] args) {
    try (var client = ThreadkeepClient.builder().app("demo").userId("ada").buildAsync()) {
      var session = client.session("async-" + Events.newEventId());

      var seen =
          session
              .append(List.of(Events.user("Is BA117 on time?")), o -> o.createIfMissing())
              .thenCompose(asked -> session.append(Events.assistant("Yes, it leaves at 10:05.")))
              .thenCompose(answered -> session.events().toList());
      seen.join().forEach(event -> System.out.println(event.getSeq() + ": " + Events.textOf(event)));

      var watcher = new Watcher();
      session.watch(o -> o.from(Start.beginning())).subscribe(watcher);
      watcher.answered.join();

      client
          .session("never-made")
          .get()
          .handle((found, error) -> ((ThreadkeepException) error).reason() + ": " + ((ThreadkeepException) error).metadata().get("session_id"))
          .thenAccept(System.out::println)
          .join();
    }
  }

  /** Prints changes, one at a time, up to the answer. */
  private static final class Watcher implements Flow.Subscriber<Change> {
    final CompletableFuture<Void> answered = new CompletableFuture<>();
    private Flow.Subscription subscription;

    @Override
    public void onSubscribe(Flow.Subscription given) {
      subscription = given;
      subscription.request(1);
    }

    @Override
    public void onNext(Change change) {
      change.getBatch().getEventsList().forEach(event -> System.out.println("watched: " + Events.textOf(event)));
      if (change.getBatch().getEventsList().stream().anyMatch(event -> event.getSeq() == 2)) {
        subscription.cancel();
        answered.complete(null);
      } else {
        subscription.request(1);
      }
    }

    @Override
    public void onError(Throwable error) {
      answered.completeExceptionally(error);
    }

    @Override
    public void onComplete() {
      answered.complete(null);
    }
  }
}
