import dev.threadkeep.Events;
import dev.threadkeep.SessionHandle;
import dev.threadkeep.ThreadkeepClient;
import dev.threadkeep.options.Start;
import dev.threadkeep.v1.Change;
import dev.threadkeep.v1.Part;
import dev.threadkeep.v1.Role;
import dev.threadkeep.v1.SessionEvent;
import java.util.List;
import java.util.Map;

/** An agent whose memory is the session. A rule replaces the model, and another thread watches the session. */
public final class Agent {
  private static final Map<String, String> WEATHER = Map.of("Lisbon", "21 degrees and sunny", "Oslo", "4 degrees and snow");

  private final SessionHandle session;

  private Agent(SessionHandle session) {
    this.session = session;
  }

  /** Runs the example. THREADKEEP_ADDRESS specifies the server; default: the local one. */
  public static void main(String[] args) throws InterruptedException {
    try (var client = ThreadkeepClient.builder().app("demo").userId("ada").build()) {
      var session = client.session("agent-" + Events.newEventId());
      var follower = new Thread(() -> follow(session, 2));
      follower.start();

      var agent = new Agent(session);
      agent.answer("What is the weather in Lisbon?");
      agent.answer("And in Oslo?");
      follower.join();
    }
  }

  /** Runs one turn: appends the user's message, then answers and tool results until there is a final answer. */
  private void answer(String question) {
    session.append(List.of(Events.user(question)), o -> o.createIfMissing());
    boolean working = true;
    while (working) {
      SessionEvent thought = think(session.getContext().getEventsList());
      session.append(thought);
      working = false;
      for (Part part : thought.getMessage().getPartsList()) {
        if (part.hasToolCall()) {
          var call = part.getToolCall();
          String town = call.getArgumentsJson().split("\"")[3];
          session.append(Events.toolResult(call.getId(), call.getName(), WEATHER.getOrDefault(town, "unknown")));
          working = true;
        }
      }
    }
  }

  /** Replaces the model: it sees only the context. */
  private static SessionEvent think(List<SessionEvent> context) {
    var last = context.get(context.size() - 1).getMessage();
    if (last.getRole() == Role.ROLE_TOOL) {
      return Events.assistant("It is " + last.getParts(0).getToolResult().getParts(0).getText() + ".");
    }
    String town = last.getParts(0).getText().replaceAll(".* in (\\w+)\\?", "$1");
    return Events.assistant(Events.toolCall("call-" + context.size(), "weather", "{\"town\": \"" + town + "\"}"));
  }

  /** Prints the session as it grows, until this many answers were appended. */
  private static void follow(SessionHandle session, int answers) {
    int left = answers;
    try (var changes = session.watch(o -> o.from(Start.beginning()))) {
      for (Change change : changes) {
        for (SessionEvent event : change.getBatch().getEventsList()) {
          System.out.println(describe(event));
          boolean answer = event.getMessage().getRole() == Role.ROLE_ASSISTANT && !Events.textOf(event).isEmpty();
          left -= answer ? 1 : 0;
        }
        if (left == 0) {
          return;
        }
      }
    }
  }

  private static String describe(SessionEvent event) {
    Part part = event.getMessage().getParts(0);
    if (part.hasToolCall()) {
      return "  calls " + part.getToolCall().getName() + " " + part.getToolCall().getArgumentsJson();
    }
    if (part.hasToolResult()) {
      return "  gets " + part.getToolResult().getParts(0).getText();
    }
    return (event.getMessage().getRole() == Role.ROLE_USER ? "user: " : "agent: ") + Events.textOf(event);
  }
}
