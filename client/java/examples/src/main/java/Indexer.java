import dev.threadkeep.ConsumerHandle.Park;
import dev.threadkeep.Delivery;
import dev.threadkeep.Events;
import dev.threadkeep.ThreadkeepClient;
import dev.threadkeep.v1.Role;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;

/** Works for a named consumer that indexes a session; a change that it cannot handle is parked, and replayed. */
public final class Indexer {
  private final AtomicBoolean hasModel = new AtomicBoolean();
  private final BlockingQueue<String> outcomes = new LinkedBlockingQueue<>();

  private Indexer() {}

  /** Runs the example. THREADKEEP_ADDRESS specifies the server; default: the local one. */
  public static void main(String[] args) throws InterruptedException {
    // A new user and consumer, so that every run prints the same.
    try (var client = ThreadkeepClient.builder().app("consumer").userId("ada-" + Events.newEventId()).build()) {
      var trip = client.session("trip");
      trip.append(List.of(Events.user("Is BA117 on time?")), o -> o.createIfMissing());
      trip.append(Events.assistant("Yes, gate B32."));

      var indexer = new Indexer();
      var consumer = client.consumer("indexer-" + Events.newEventId());
      try (var run = consumer.run(indexer::index, o -> o.fromBeginning())) {
        System.out.println(indexer.outcomes.take());
        System.out.println(indexer.outcomes.take());
        indexer.hasModel.set(true);
        while (consumer.replayParked() == 0) {
          TimeUnit.MILLISECONDS.sleep(20); // the server stores the change first
        }
        System.out.println(indexer.outcomes.take());
        run.stop();
        run.join();
      }
      consumer.delete();
    }
  }

  /** Handles a change: text of the user is indexed at once, that of the agent needs a model. */
  private void index(Delivery delivery) throws Park {
    for (var event : delivery.change().getBatch().getEventsList()) {
      if (event.getMessage().getRole() == Role.ROLE_ASSISTANT && !hasModel.get()) {
        outcomes.add("parked: no model today");
        throw new Park("no model today");
      }
      outcomes.add((delivery.parkedId().isEmpty() ? "indexed: " : "indexed again: ") + Events.textOf(event));
    }
  }
}
