import dev.threadkeep.Events;
import dev.threadkeep.ThreadkeepClient;
import dev.threadkeep.UserMemory;
import java.util.List;

/** Searches a session by a question, and remembers across sessions. */
public final class Recall {
  private Recall() {}

  /** Runs the example. THREADKEEP_ADDRESS specifies the server; default: the local one. */
  public static void main(String[] args) {
    // A new user, so that every run prints the same.
    try (var client = ThreadkeepClient.builder().app("recall").userId("ada-" + Events.newEventId()).build()) {
      var question = Events.user("Which flights go to Lisbon in May?");
      var said = List.of(Events.user("My daughter is allergic to peanuts."), Events.assistant("Noted."), question);
      var trip = client.session("trip");
      trip.append(said, o -> o.createIfMissing());

      // Hits come best first; take as many as you need.
      var hits = trip.search("Are there any flights to Lisbon?");
      hits.stream().limit(1).forEach(hit -> System.out.println("found: " + Events.textOf(hit.getEvent())));

      var memory = client.memory();
      var ingested = memory.addSession("trip"); // safe to repeat: each event is remembered once
      System.out.println("remembered: " + ingested.getAdded() + " events");
      memory.add(UserMemory.remember("Prefers a window seat."));
      var found = memory.search("What must my daughter not eat, peanuts?", o -> o.topK(1));
      System.out.println("recalled: " + Events.textOf(found.getEntries(0)));

      var forgotten = memory.deleteAll();
      System.out.println("forgotten: " + forgotten.getDeleted() + " memories");
    }
  }
}
