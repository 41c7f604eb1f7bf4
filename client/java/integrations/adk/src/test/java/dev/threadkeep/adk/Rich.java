package dev.threadkeep.adk;

import com.fasterxml.jackson.databind.JsonNode;
import com.google.adk.events.Event;
import com.google.adk.events.EventActions;
import com.google.adk.events.EventCompaction;
import com.google.adk.events.ToolConfirmation;
import com.google.adk.sessions.State;
import com.google.genai.types.Blob;
import com.google.genai.types.Content;
import com.google.genai.types.CustomMetadata;
import com.google.genai.types.FileData;
import com.google.genai.types.FinishReason;
import com.google.genai.types.FunctionCall;
import com.google.genai.types.FunctionResponse;
import com.google.genai.types.GenerateContentResponseUsageMetadata;
import com.google.genai.types.GroundingMetadata;
import com.google.genai.types.Part;
import com.google.genai.types.SearchEntryPoint;
import com.google.genai.types.StringList;
import com.google.genai.types.Transcription;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** Events with all that an event of ADK for Java can have. */
final class Rich {
  private static final byte[] BYTES = {(byte) 0xfb, (byte) 0xff, (byte) 0xfe, 0, 1};

  private Rich() {}

  static List<Event> events() {
    return List.of(asked(), called(), returned(), answered(), summarized(), spoken());
  }

  /** Returns what can be compared: objects with bytes are equal to themselves only. */
  static List<JsonNode> trees(List<Event> events) {
    return events.stream().map(event -> Json.parsed(event.toJson())).toList();
  }

  private static Event asked() {
    Content content = Content.builder().role("user").parts(
        Part.fromText("Compare, please. 🌞"),
        Part.builder().inlineData(Blob.builder().mimeType("image/png").data(BYTES).displayName("map").build()).build(),
        Part.builder().fileData(FileData.builder().mimeType("application/pdf").fileUri("gs://b/f.pdf").build()).build()).build();
    Map<String, Object> delta = new HashMap<>(Map.of("cityNames", List.of("Oslo"), "user:snake_case", Map.of("innerKey", 1), "app:gone", State.REMOVED));
    return Event.builder().id("e1").invocationId("i1").author("user").content(content).timestamp(1_764_259_200_123L)
        .actions(EventActions.builder().stateDelta(delta).artifactDelta(Map.of("mapFile.png", 2)).build()).build();
  }

  private static Event called() {
    Content content = Content.builder().role("model").parts(
        Part.builder().text("Two cities.").thought(true).thoughtSignature(BYTES).build(),
        Part.fromText("Let me look."),
        Part.builder().functionCall(FunctionCall.builder().id("c1").name("weather").args(Map.of("cityName", "Oslo", "snake_case", 1)).build())
            .thoughtSignature(BYTES).build()).build();
    return Event.builder().id("e2").invocationId("i1").author("helper").branch("root.helper").content(content).timestamp(1_764_259_201_000L)
        .longRunningToolIds(Set.of("c1")).modelVersion("m-1").finishReason(new FinishReason(FinishReason.Known.STOP)).avgLogprobs(-0.25)
        .usageMetadata(GenerateContentResponseUsageMetadata.builder().promptTokenCount(10).candidatesTokenCount(5).thoughtsTokenCount(2)
            .cachedContentTokenCount(3).totalTokenCount(17).build())
        .actions(EventActions.builder()
            .requestedToolConfirmations(Map.of("c1", ToolConfirmation.builder().hint("Sure?").confirmed(false).payload(Map.of("aB", 1)).build()))
            .build())
        .build();
  }

  private static Event returned() {
    Map<String, Object> response = new HashMap<>(Map.of("error", "the station is offline"));
    Content content = Content.builder().role("user").parts(
        Part.builder().functionResponse(FunctionResponse.builder().id("c1").name("weather").response(response).build()).build()).build();
    return Event.builder().id("e3").invocationId("i1").author("helper").content(content).timestamp(1_764_259_202_500L)
        .actions(EventActions.builder().skipSummarization(true).transferToAgent("other").escalate(true).endOfAgent(true).build())
        .build();
  }

  private static Event answered() {
    var entry = SearchEntryPoint.builder().renderedContent("<b>x</b>").sdkBlob(BYTES).build();
    return Talk.said("helper", "Oslo is offline.").id("e4").timestamp(1_764_259_203_001L)
        .turnComplete(true).interrupted(false).errorCode(new FinishReason("MAX_TOKENS")).errorMessage("cut")
        .groundingMetadata(GroundingMetadata.builder().searchEntryPoint(entry).webSearchQueries("oslo weather").build())
        .customMetadata(List.of(
            CustomMetadata.builder().key("teamName").stringValue("travel").build(),
            CustomMetadata.builder().key("score").numericValue(0.5f).build(),
            CustomMetadata.builder().key("tags").stringListValue(StringList.builder().values("a", "b").build()).build()))
        .build();
  }

  private static Event summarized() {
    Content content = Content.builder().role("model").parts(Part.fromText("They compared cities.")).build();
    var compaction = EventCompaction.builder().startTimestamp(1_764_259_200_123L).endTimestamp(1_764_259_203_001L).compactedContent(content).build();
    return Event.builder().id("e5").invocationId("i2").author("user").timestamp(1_764_259_204_000L)
        .actions(EventActions.builder().compaction(compaction).build()).build();
  }

  private static Event spoken() {
    return Event.builder().id("e6").invocationId("i3").author("user").timestamp(1_764_259_205_999L)
        .inputTranscription(Transcription.builder().text("Is it on time?").finished(true).build()).build();
  }

  /** Returns an event with what Python's ADK has no member for: it is in the item, for Java. */
  static Event own() {
    return Event.builder().id("e7").invocationId("i3").author("user").timestamp(1_764_259_206_000L)
        .customMetadata(List.of(CustomMetadata.builder().key("k").stringValue("1").build(), CustomMetadata.builder().key("k").stringValue("2").build()))
        .actions(EventActions.builder().deletedArtifactIds(Set.of("a1")).build()).build();
  }
}
