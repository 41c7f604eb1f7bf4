package dev.threadkeep.spring.ai;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.threadkeep.ThreadkeepClient;
import java.io.IOException;
import java.net.ServerSocket;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.ai.chat.client.ChatClient;
import org.springframework.ai.chat.messages.AssistantMessage;
import org.springframework.ai.chat.messages.Message;
import org.springframework.ai.chat.model.ChatModel;
import org.springframework.ai.chat.model.ChatResponse;
import org.springframework.ai.chat.model.Generation;
import org.springframework.ai.session.DefaultSessionService;
import org.springframework.ai.session.advisor.SessionMemoryAdvisor;

/** A chat whose server is killed while its model thinks. */
class KilledServerTest {
  @TempDir Path folder;
  private String address;
  private Process server;

  private void start() {
    var command = List.of(System.getenv("THREADKEEP_TEST_PROGRAM"), "serve", "--grpc-address", address, "--http-address", "", "--data-dir", folder.toString());
    try {
      server = new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(ProcessBuilder.Redirect.DISCARD).start();
    } catch (IOException error) {
      throw new IllegalStateException(error);
    }
  }

  @Test
  void chatContinuesAfterItsServerIsKilledAndStartedAgain() throws Exception {
    try (var port = new ServerSocket(0)) {
      address = "127.0.0.1:" + port.getLocalPort();
    }
    start();
    try (var client = ThreadkeepClient.builder().address(address).app("killed").timeout(Duration.ofMinutes(3))
        .retry(retry -> retry.maxAttempts(1000)).build()) {
      client.info();
      var sessions = DefaultSessionService.builder().sessionRepository(new ThreadkeepSessionRepository(client)).build();
      ChatModel model = prompt -> {
        if (prompt.getContents().contains("Which gate?")) {
          server.destroyForcibly().onExit().join();
          start();
        }
        return new ChatResponse(List.of(new Generation(new AssistantMessage("sees " + prompt.getInstructions().size()))));
      };
      var chat = ChatClient.builder(model).defaultAdvisors(SessionMemoryAdvisor.builder(sessions).defaultUserId("ada").build()).build();
      for (String question : List.of("Is BA117 on time?", "Which gate?")) {
        chat.prompt().user(question).advisors(a -> a.param(SessionMemoryAdvisor.SESSION_ID_CONTEXT_KEY, "s1")).call().content();
      }
      assertEquals(List.of("Is BA117 on time?", "sees 1", "Which gate?", "sees 3"), sessions.getMessages("s1").stream().map(Message::getText).toList());
    } finally {
      server.destroyForcibly().onExit().join();
    }
  }
}
