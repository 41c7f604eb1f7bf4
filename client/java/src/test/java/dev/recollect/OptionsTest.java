package dev.recollect;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.recollect.v1.ChangeScope;
import dev.recollect.v1.IfExists;
import dev.recollect.v1.SessionRef;
import dev.recollect.v1.WatchSessionRequest.StartCase;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

class OptionsTest {
  private static final SessionRef SESSION = SessionRef.newBuilder().setSessionId("s").build();

  @Test
  void anAppendHasAtMostOnePrecondition() {
    var options = AppendOptions.builder().expectedLogVersion(3);
    assertThrows(IllegalArgumentException.class, () -> options.expectedLastEventId("e"));
    assertEquals(4, options.expectedLogVersion(4).build().request().getExpectedLogVersion());
  }

  @Test
  void whatAnAppendIsToldIsInItsRequest() {
    var none = AppendOptions.NONE.request();
    assertFalse(none.hasCreateIfMissing());
    assertEquals(IfExists.IF_EXISTS_UNSPECIFIED, none.getIfExists());

    var all = AppendOptions.builder().create().ignoreExisting().expectedLastEventId("").build().request();
    assertTrue(all.hasCreateIfMissing());
    assertEquals(IfExists.IF_EXISTS_IGNORE, all.getIfExists());
    assertTrue(all.hasExpectedLastEventId());
  }

  @Test
  void aWatchStartsAtOnePlace() {
    var builder = WatchOptions.builder().afterSeq(3).fromBeginning();
    assertThrows(IllegalArgumentException.class, builder::build);
    assertThrows(IllegalArgumentException.class, () -> WatchOptions.builder().maxRetries(-1));
    var inSession = WatchOptions.builder().afterSeq(3).build();
    assertThrows(IllegalArgumentException.class, () -> inSession.request(ChangeScope.getDefaultInstance(), ""));
  }

  @Test
  void placesToStartAt() {
    assertTrue(WatchOptions.LIVE.request(SESSION, "").getLiveOnly());
    assertTrue(WatchOptions.LIVE.request(ChangeScope.getDefaultInstance(), "").getLiveOnly());
    assertEquals(3, WatchOptions.builder().afterSeq(3).build().request(SESSION, "").getAfterSeq());
    var beginning = WatchOptions.builder().fromBeginning().build();
    assertEquals(StartCase.AFTER_SEQ, beginning.request(SESSION, "").getStartCase());
    assertTrue(beginning.request(ChangeScope.getDefaultInstance(), "").getFromBeginning());
    assertEquals("t", beginning.request(SESSION, "t").getResumeToken());
    assertEquals("t", beginning.request(ChangeScope.getDefaultInstance(), "t").getResumeToken());
    assertEquals("mine", WatchOptions.builder().resumeToken("mine").build().request(SESSION, "").getResumeToken());
  }

  @Test
  void optionsDoNotChangeWithTheirBuilder() {
    var builder = WatchOptions.builder();
    var options = builder.build();
    builder.checkpoints();
    assertFalse(options.checkpoints());
  }

  @Test
  void addressAndTokenComeFromTheEnvironment() {
    var nothing = new RecollectBuilder(Map.of());
    assertEquals("127.0.0.1:7443", nothing.address());
    assertEquals("", nothing.token());
    var environment = Map.of("RECOLLECT_ADDRESS", "there:1", "RECOLLECT_TOKEN", "secret");
    assertEquals("there:1", new RecollectBuilder(environment).address());
    assertEquals("secret", new RecollectBuilder(environment).token());
    assertEquals("here:2", new RecollectBuilder(environment).address("here:2").address());
    assertEquals("", new RecollectBuilder(environment).token("").token());
  }

  @Test
  void theProtosSayWhatIsRetried() {
    Set<String> methods = new HashSet<>();
    RetryPolicy.retryable().forEach(name -> methods.add(name.get("service") + "/" + name.get("method")));
    assertTrue(methods.contains("recollect.v1.EventService/AppendEvents"));
    assertTrue(methods.contains("recollect.v1.CompactionService/ApplyCompaction"));
    assertTrue(methods.contains("recollect.v1.ConsumerService/DeleteConsumer"));
    assertTrue(methods.contains("recollect.v1.ServerService/GetServerInfo"));
    for (String never : new String[] {"SessionService/CreateSession", "CompactionService/CompactSession", "CompactionService/ReplaceEvents"}) {
      assertFalse(methods.contains("recollect.v1." + never), never);
    }
    for (String stream : new String[] {"SubscriptionService/WatchAll", "EventService/AppendStream", "ConsumerService/Consume"}) {
      assertFalse(methods.contains("recollect.v1." + stream), stream);
    }
  }
}
