package dev.threadkeep;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.threadkeep.v1.AppendEventsRequest;
import dev.threadkeep.v1.IfExists;
import java.util.HashSet;
import java.util.Map;
import java.util.OptionalInt;
import java.util.Set;
import org.junit.jupiter.api.Test;

class OptionsTest {
  @Test
  void appendRejectsTwoPreconditions() {
    var version = AppendOptions.NONE.expectedLogVersion(3);
    assertThrows(IllegalArgumentException.class, () -> version.expectedLastEventId("e"));
    assertThrows(IllegalArgumentException.class, () -> AppendOptions.NONE.expectedLastEventId("e").expectedLogVersion(3));
    assertEquals(4, version.expectedLogVersion(4).request().getExpectedLogVersion());
    assertEquals(3, version.request().getExpectedLogVersion(), "options do not change");
  }

  @Test
  void appendOptionsSetTheRequest() {
    assertEquals(AppendEventsRequest.getDefaultInstance(), AppendOptions.NONE.request().build());
    var all = AppendOptions.NONE.create().ignoreExisting().expectedLastEventId("").request();
    assertTrue(all.hasCreateIfMissing());
    assertEquals(IfExists.IF_EXISTS_IGNORE, all.getIfExists());
    assertTrue(all.hasExpectedLastEventId());
  }

  @Test
  void watchOptionsAreSet() {
    assertThrows(IllegalArgumentException.class, () -> WatchOptions.DEFAULT.withMaxRetries(-1));
    assertEquals(new WatchOptions(true, OptionalInt.of(0)), WatchOptions.DEFAULT.withMaxRetries(0).withCheckpoints());
    assertEquals(new WatchOptions(false, OptionalInt.empty()), WatchOptions.DEFAULT);
  }

  @Test
  void addressAndTokenDefaultToTheEnvironment() {
    var nothing = new ThreadkeepClientBuilder(Map.of());
    assertEquals("127.0.0.1:7443", Address.of(nothing.address).authority());
    assertEquals("", nothing.token);
    var environment = Map.of("THREADKEEP_ADDRESS", "there:1", "THREADKEEP_TOKEN", "secret");
    assertEquals("there:1", new ThreadkeepClientBuilder(environment).address);
    assertEquals("secret", new ThreadkeepClientBuilder(environment).token);
    assertEquals("here:2", new ThreadkeepClientBuilder(environment).address("here:2").address);
    assertEquals("", new ThreadkeepClientBuilder(environment).token("").token);
  }

  @Test
  void retriedMethodsMatchTheProtos() {
    Set<String> methods = new HashSet<>();
    RetryPolicy.retryable().forEach(name -> methods.add(name.get("service") + "/" + name.get("method")));
    assertTrue(methods.contains("threadkeep.v1.EventService/AppendEvents"));
    assertTrue(methods.contains("threadkeep.v1.CompactionService/ApplyCompaction"));
    assertTrue(methods.contains("threadkeep.v1.ConsumerService/DeleteConsumer"));
    assertTrue(methods.contains("threadkeep.v1.ServerService/GetServerInfo"));
    assertTrue(methods.contains("threadkeep.v1.MemoryService/AddMemories"));
    assertTrue(methods.contains("threadkeep.v1.ToolService/CallTool"));
    for (String never : new String[] {"SessionService/CreateSession", "CompactionService/CompactSession", "CompactionService/ReplaceEvents"}) {
      assertFalse(methods.contains("threadkeep.v1." + never), never);
    }
    for (String stream : new String[] {"SubscriptionService/WatchAll", "EventService/AppendStream", "ConsumerService/Consume"}) {
      assertFalse(methods.contains("threadkeep.v1." + stream), stream);
    }
  }
}
