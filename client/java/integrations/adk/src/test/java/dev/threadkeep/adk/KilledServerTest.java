package dev.threadkeep.adk;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.google.adk.tools.FunctionTool;
import com.google.genai.types.FunctionCall;
import com.google.genai.types.Part;
import dev.threadkeep.ThreadkeepClient;
import java.io.IOException;
import java.net.ServerSocket;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A run of ADK's Runner whose server is killed while a tool runs. */
public class KilledServerTest {
  @TempDir static Path folder;
  private static String address;
  private static Process server;

  private static void start() {
    var command = List.of(System.getenv("THREADKEEP_TEST_PROGRAM"), "serve", "--grpc-address", address, "--http-address", "", "--data-dir", folder.toString());
    try {
      server = new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(ProcessBuilder.Redirect.DISCARD).start();
    } catch (IOException error) {
      throw new IllegalStateException(error);
    }
  }

  /** A tool. */
  public static Map<String, Object> gate() {
    server.destroyForcibly().onExit().join();
    start();
    return Map.of("gate", "B32");
  }

  @Test
  void runGoesOnAfterItsServerIsKilledAndStartedAgain() throws Exception {
    try (var port = new ServerSocket(0)) {
      address = "127.0.0.1:" + port.getLocalPort();
    }
    start();
    try (var client = ThreadkeepClient.builder().address(address).timeout(Duration.ofMinutes(3)).retry(retry -> retry.maxAttempts(1000)).build()) {
      client.info();
      var service = new ThreadkeepSessionService(client);
      var session = Talk.created(service, "killed");
      var call = Part.builder().functionCall(FunctionCall.builder().id("c1").name("gate").args(Map.of()).build()).build();
      var model = new Talk.Scripted(Talk.answer(call), Talk.answer(Part.fromText("It is B32.")));
      Talk.run(Talk.runner(service, "killed", model, FunctionTool.create(KilledServerTest.class, "gate")), session.id(), "Which gate?");
      var events = Talk.read(service, session).events();
      assertEquals(List.of("user", "helper", "helper", "helper"), events.stream().map(each -> each.author()).toList());
      assertEquals(Map.of("gate", "B32"), events.get(2).functionResponses().get(0).response().get());
      assertEquals("It is B32.", events.get(3).content().get().text());
    } finally {
      server.destroyForcibly().onExit().join();
    }
  }
}
