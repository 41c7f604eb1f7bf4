import dev.threadkeep.AppendOptions;
import dev.threadkeep.Events;
import dev.threadkeep.ThreadkeepClient;
import dev.threadkeep.ThreadkeepException;
import dev.threadkeep.v1.ErrorReason;
import dev.threadkeep.v1.SessionEvent;
import java.util.List;

/** Appends a question and an answer, reads them back, and handles an error. */
public final class Quickstart {
  private Quickstart() {}

  /** Runs the example. THREADKEEP_ADDRESS specifies the server; default: the local one. */
  public static void main(String[] args) {
    try (var client = ThreadkeepClient.builder().app("demo").userId("ada").build()) {
      String session = "quickstart-" + Events.newId();

      var events = List.of(Events.user("Is BA117 on time?"), Events.assistant("Yes, it leaves at 10:05."));
      var appended = client.append(session, events, AppendOptions.NONE.create());
      System.out.println("appended " + appended.getEventsCount() + " events, the last is number " + appended.getLastSeq());

      for (SessionEvent event : client.context(session).getEventsList()) {
        System.out.println(event.getSeq() + " " + event.getMessage().getRole() + ": " + Events.textOf(event));
      }

      try {
        client.append("never-made", Events.user("Hello?"));
      } catch (ThreadkeepException error) {
        if (error.reason() == ErrorReason.ERROR_REASON_SESSION_NOT_FOUND) {
          System.out.println("there is no session " + error.metadata().get("session_id"));
        } else {
          throw error;
        }
      }
    }
  }
}
