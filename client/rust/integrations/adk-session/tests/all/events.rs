//! Events of adk-rust in the log, and events of others as those of adk-rust.

use adk_core::{
    Content, EmbeddedResource, EventCompaction, FileDataPart, FunctionResponseData, InlineDataPart, Part, TextResourceContents,
    UsageMetadata,
};
use adk_session::Event;
use chrono::DateTime;
use serde_json::{Value, json};
use threadkeep::SessionEvent;
use threadkeep::v1::{self, media_part::Source, part::Content as Kind};
use threadkeep_adk_session::FORMAT;

use crate::support::{Service, call, said, saying};

async fn session() -> (Service, threadkeep::SessionHandle) {
    let service = Service::new();
    service.create("ada", Some("s"), &[]).await.unwrap();
    let handle = service.inner.handle(&service.app, "ada", "s");
    (service, handle)
}

/// Appends an event; returns it as adk-rust reads it, and as the log has it.
async fn exchanged(event: Event) -> (Event, SessionEvent) {
    let (service, handle) = session().await;
    service.append("ada", "s", event).await.unwrap();
    let stored: Vec<SessionEvent> = handle.events().items().try_collect().await.unwrap();
    let read = service.get("ada", "s").await.unwrap().events().all().remove(0);
    (read, stored[0].clone())
}

/// An event has no equality of its own.
fn value(event: &Event) -> Value {
    serde_json::to_value(event).unwrap()
}

fn kinds(event: &SessionEvent) -> Vec<Kind> {
    let parts = event.message.iter().flat_map(|message| message.parts.clone());
    parts.filter_map(|part| part.content).collect()
}

fn response(function_response: FunctionResponseData) -> Part {
    Part::FunctionResponse { function_response, id: Some("c1".into()), annotations: None }
}

#[tokio::test]
async fn event_with_every_field_comes_back_equal_and_is_its_json_in_the_log() {
    let text = TextResourceContents::new("file:///a.rs", None, "fn main() {}");
    let mut event = said(vec![
        Part::Thinking { thinking: "Hm.".into(), signature: Some("sig".into()) },
        Part::Text { text: "Look.".into() },
        Part::InlineData {
            mime_type: "image/png".into(),
            data: b"\x89PNG".to_vec(),
            uri: None,
            annotations: Some(json!({"k": 1})),
        },
        Part::FileData { mime_type: "text/csv".into(), file_uri: "gs://a/b".into(), annotations: None },
        Part::EmbeddedResource { resource: EmbeddedResource::Text(text) },
        Part::ServerToolCall { server_tool_call: json!({"search": "x"}) },
        call("c1"),
    ]);
    event.branch = "root.child".into();
    event.timestamp = DateTime::from_timestamp(1_700_000_000, 123_456_789).unwrap();
    event.long_running_tool_ids = vec!["c1".into()];
    event.llm_response.turn_complete = true;
    event.llm_response.provider_metadata = Some(json!({"k": [1, null]}));
    event.provider_metadata.insert("region".into(), "eu".into());
    event.llm_response.usage_metadata = Some(UsageMetadata {
        prompt_token_count: 10,
        candidates_token_count: 3,
        total_token_count: 15,
        cache_read_input_token_count: Some(4),
        thinking_token_count: Some(2),
        cost: Some(0.1),
        ..UsageMetadata::default()
    });
    let (read, stored) = exchanged(event.clone()).await;
    assert_eq!(value(&read), value(&event));
    let native = stored.native.as_ref().unwrap();
    assert_eq!(native.format, FORMAT);
    assert_eq!(serde_json::from_slice::<Value>(&native.content).unwrap(), value(&event));
    assert_eq!((stored.author.as_str(), stored.branch.as_str(), stored.invocation_id.as_str()), ("agent", "root.child", "i1"));
    let usage = stored.usage.unwrap();
    let counts = (usage.input_tokens, usage.output_tokens, usage.total_tokens, usage.cached_tokens, usage.reasoning_tokens);
    assert_eq!(counts, (10, 5, 15, 4, 2));
    let time = stored.event_time.as_ref().unwrap();
    assert_eq!((time.seconds, time.nanos / 1_000), (1_700_000_000, 123_456));
    let kinds = kinds(&stored);
    assert!(matches!(&kinds[0], Kind::Reasoning(part) if part.text == "Hm." && part.signature.is_empty()));
    assert!(matches!(&kinds[1], Kind::Text(text) if text == "Look."));
    assert!(matches!(&kinds[2], Kind::Media(part) if part.source == Some(Source::Data(b"\x89PNG".to_vec()))));
    assert!(matches!(&kinds[3], Kind::Media(part) if part.source == Some(Source::Uri("gs://a/b".into()))));
    assert!(matches!(&kinds[4], Kind::Media(part) if part.name == "file:///a.rs" && part.mime_type == "text/plain"));
    assert!(matches!(&kinds[5], Kind::Data(part) if part.r#type == "adk-rust"));
    assert!(matches!(&kinds[6], Kind::ToolCall(part) if part.id == "c1" && part.arguments_json == r#"{"city":"Lisbon"}"#));
}

#[tokio::test]
async fn response_of_a_function_is_a_result_and_an_error_is_marked() {
    for (given, structured, text, is_error) in [
        (json!({"result": "sunny"}), "", Some("sunny"), false),
        (json!({"celsius": 21}), r#"{"celsius":21}"#, None, false),
        (json!({"error": "offline"}), "", Some("offline"), true),
        (json!({"result": [1]}), "[1]", None, false),
        (json!("sunny"), "", Some("sunny"), false),
    ] {
        let event = said(vec![response(FunctionResponseData::new("weather", given))]);
        let (read, stored) = exchanged(event.clone()).await;
        assert_eq!(value(&read), value(&event));
        assert_eq!(stored.message.as_ref().unwrap().role(), threadkeep::Role::Tool);
        let kinds = kinds(&stored);
        let [Kind::ToolResult(result)] = kinds.as_slice() else { panic!("{stored:?}") };
        let found = (result.call_id.as_str(), result.name.as_str(), result.structured_json.as_str());
        assert_eq!(found, ("c1", "weather", structured));
        let first = result.parts.first().and_then(|part| part.content.clone());
        assert_eq!((first, result.is_error), (text.map(|text| Kind::Text(text.into())), is_error));
    }
}

#[tokio::test]
async fn media_of_a_functions_response_are_parts_of_its_result() {
    let image = InlineDataPart { mime_type: "image/png".into(), data: b"\x89PNG".to_vec(), uri: None, annotations: None };
    let report = FileDataPart { mime_type: "text/csv".into(), file_uri: "gs://a/b".into(), annotations: None };
    let given = FunctionResponseData::with_multimodal("chart", json!({"n": 2}), vec![image], vec![report]);
    let (read, stored) = exchanged(said(vec![response(given.clone())])).await;
    let (service, handle) = session().await;
    let mut copied = stored;
    copied.native = None;
    handle.append([SessionEvent { message: copied.message, ..threadkeep::assistant("") }]).await.unwrap();
    for event in [read, service.get("ada", "s").await.unwrap().events().all().remove(0)] {
        assert_eq!(event.llm_response.content.unwrap().parts, [response(given.clone())]);
    }
}

#[tokio::test]
async fn compaction_of_adk_rust_is_a_synthetic_event() {
    let mut event = Event::new("i1");
    let compacted_content = Content { role: "model".into(), parts: vec![Part::Text { text: "They spoke of Lisbon.".into() }] };
    let (start_timestamp, end_timestamp) = (event.timestamp, event.timestamp);
    event.actions.compaction = Some(EventCompaction { start_timestamp, end_timestamp, compacted_content });
    let (read, stored) = exchanged(event.clone()).await;
    assert_eq!(value(&read), value(&event));
    assert!(stored.synthetic);
    assert_eq!(stored.compaction_source, "google-adk");
    assert_eq!(threadkeep::text_of(&stored), "They spoke of Lisbon.");
}

#[tokio::test]
async fn events_of_other_frameworks_are_events_of_adk_rust() {
    let (service, handle) = session().await;
    let mut asked =
        threadkeep::user_with_parts([threadkeep::text("And this?"), threadkeep::media("image/png", "data:;base64,iVBORw==")]);
    asked.author = "ada".into();
    let mut calls = threadkeep::assistant_with_parts([
        threadkeep::reasoning("Hm."),
        threadkeep::tool_call("c1", "weather", json!({"city": "Lisbon"})),
    ]);
    calls.author = "forecaster".into();
    calls.branch = "root.child".into();
    calls.invocation_id = "i1".into();
    let failed = threadkeep::tool_error("c1", "", "offline");
    handle.append([threadkeep::system("Be brief."), asked, calls, failed]).await.unwrap();
    let events = service.get("ada", "s").await.unwrap().events().all();
    let authors: Vec<_> = events.iter().map(|event| event.author.as_str()).collect();
    assert_eq!(authors, ["system", "user", "forecaster", "assistant"]);
    assert_eq!((events[2].branch.as_str(), events[2].invocation_id.as_str()), ("root.child", "i1"));
    assert!(events.iter().all(|event| event.timestamp.timestamp() > 1_700_000_000));
    let contents: Vec<_> = events.into_iter().map(|event| event.llm_response.content.unwrap()).collect();
    let roles: Vec<_> = contents.iter().map(|content| content.role.as_str()).collect();
    assert_eq!(roles, ["system", "user", "model", "function"]);
    let parts: Vec<_> = contents.into_iter().flat_map(|content| content.parts).collect();
    let text = |text: &str| Part::Text { text: text.into() };
    let expected = [
        text("Be brief."),
        text("And this?"),
        Part::InlineData { mime_type: "image/png".into(), data: b"\x89PNG".to_vec(), uri: None, annotations: None },
        Part::Thinking { thinking: "Hm.".into(), signature: None },
        call("c1"),
        response(FunctionResponseData::new("weather", json!({"error": "offline"}))),
    ];
    assert_eq!(parts, expected);
}

#[tokio::test]
async fn event_of_a_later_version_is_read_from_its_parts() {
    let (service, handle) = session().await;
    let mut event = threadkeep::assistant("Still readable.");
    event.native = Some(v1::NativeContent { format: FORMAT.into(), content: br#"{"author": 7}"#.to_vec() });
    handle.append([event]).await.unwrap();
    let read = service.get("ada", "s").await.unwrap().events().all().remove(0);
    assert_eq!(read.llm_response.content.unwrap().parts, saying("Still readable.").llm_response.content.unwrap().parts);
}
