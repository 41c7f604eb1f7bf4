import dev.threadkeep.Events;
import dev.threadkeep.Reason;
import dev.threadkeep.ThreadkeepClient;
import dev.threadkeep.ThreadkeepException;
import dev.threadkeep.v1.SessionEvent;
import java.util.List;

/** Appends a question and an answer, reads them back, and handles an error. */
public final class Quickstart {
  private Quickstart() {}

  /** Runs the example. THREADKEEP_ADDRESS specifies the server; default: the local one. */
  public static void main(String[] args) {
    try (var client = ThreadkeepClient.builder().app("demo").userId("ada").build()) {
      var session = client.session("quickstart-" + Events.newEventId());

      var events = List.of(Events.user("Is BA117 on time?"), Events.assistant("Yes, it leaves at 10:05."));
      var appended = session.append(events, o -> o.createIfMissing());
      System.out.println("appended " + appended.response().getEventsCount() + " events, the last is number " + appended.lastSeq());

      for (SessionEvent event : session.getContext().getEventsList()) {
        System.out.println(event.getSeq() + " " + event.getMessage().getRole() + ": " + Events.textOf(event));
      }

      try {
        client.session("never-made").append(Events.user("Hello?"));
      } catch (ThreadkeepException error) {
        if (error.reason() == Reason.SESSION_NOT_FOUND) {
          System.out.println("there is no session " + error.metadata().get("session_id"));
        } else {
          throw error;
        }
      }
    }
  }
}
