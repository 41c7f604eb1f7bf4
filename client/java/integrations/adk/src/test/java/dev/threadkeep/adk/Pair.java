package dev.threadkeep.adk;

import com.google.adk.events.Event;
import com.google.adk.sessions.Session;
import dev.threadkeep.ThreadkeepClient;
import java.util.List;
import java.util.Map;

/**
 * Writes events that only Java's ADK can have, copies those of a session to another as its own, or compares: ADDRESS, then pairs of
 * "write SESSION", "copy FROM,TO" and "check SESSION".
 */
public final class Pair {
  private static final String APP = "pair";
  private static final String USER = "ada";

  private Pair() {}

  /** Runs the program. It fails if a checked session is not equal to what was written. */
  public static void main(String[] arguments) {
    boolean equal = true;
    try (var client = ThreadkeepClient.builder().address(arguments[0]).build()) {
      var service = new ThreadkeepSessionService(client);
      for (int i = 1; i < arguments.length; i += 2) {
        String[] sessions = arguments[i + 1].split(",");
        switch (arguments[i]) {
          case "write" -> write(service, sessions[0], Rich.events());
          case "copy" -> write(service, sessions[1], read(service, sessions[0]));
          default -> equal &= same(read(service, sessions[0]));
        }
      }
    }
    System.exit(equal ? 0 : 1);
  }

  private static List<Event> read(ThreadkeepSessionService service, String session) {
    return service.listEvents(APP, USER, session).blockingGet().events();
  }

  private static void write(ThreadkeepSessionService service, String id, List<Event> events) {
    Session session = service.createSession(APP, USER, Map.of(), id).blockingGet();
    events.forEach(event -> service.appendEvent(session, event).blockingGet());
  }

  private static boolean same(List<Event> found) {
    if (Rich.trees(found).equals(Rich.trees(Rich.events()))) {
      return true;
    }
    System.err.println(found + "\n" + Rich.events());
    return false;
  }
}
