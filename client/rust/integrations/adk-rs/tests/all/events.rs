//! Events of adk-rs in the log, and events of others as those of adk-rs.

use adk_rs::core::{Event, EventCompaction, GetSessionConfig, SessionService};
use adk_rs::genai_types::part::{FileData, Thought};
use adk_rs::genai_types::response::UsageMetadata;
use adk_rs::genai_types::{Content, FunctionResponse, Part, Role};
use serde_json::json;
use threadkeep::v1::{self, part::Content as Kind};
use threadkeep::{SessionEvent, SessionHandle};
use threadkeep_adk_rs::{FORMAT, ThreadkeepSessionService};

use crate::server::shared;
use crate::support::{call, said};

async fn session() -> (ThreadkeepSessionService, adk_rs::core::Session, SessionHandle) {
    let (client, app) = shared();
    let service = ThreadkeepSessionService::new(&client);
    let session = service.create_session(&app, "ada", None, Some("s")).await.unwrap();
    let handle = service.handle(&app, "ada", "s");
    (service, session, handle)
}

/// Appends an event; returns it as the log has it, and as adk-rs reads it.
async fn exchanged(event: Event) -> (Event, SessionEvent) {
    let (service, mut session, handle) = session().await;
    service.append_event(&mut session, event).await.unwrap();
    let stored: Vec<SessionEvent> = handle.events().items().try_collect().await.unwrap();
    let read = service.get_session(&session.app_name, "ada", "s", GetSessionConfig::default()).await.unwrap().unwrap();
    (read.events[0].clone(), stored[0].clone())
}

fn kinds(event: &SessionEvent) -> Vec<Kind> {
    let parts = event.message.iter().flat_map(|message| message.parts.clone());
    parts.filter_map(|part| part.content).collect()
}

#[tokio::test]
async fn event_with_every_field_comes_back_equal_and_is_its_json_in_the_log() {
    let mut event = said(vec![
        Part::Thought(Thought::new("Hm.").with_signature("sig")),
        Part::text("Look."),
        Part::RedactedThought("opaque".into()),
        Part::inline_bytes("image/png", b"\x89PNG"),
        Part::FileData(FileData { mime_type: "text/csv".into(), file_uri: "gs://a/b".into(), display_name: Some("b".into()) }),
        call("c1", "weather"),
    ]);
    event.branch = Some("root.child".into());
    event.invocation_id = "i1".into();
    event.timestamp = 1_700_000_000.123_456_7;
    event.long_running_tool_ids = Some(vec!["c1".into()]);
    event.turn_complete = Some(true);
    event.response.custom_metadata = Some(json!({"k": [1, null]}));
    event.response.usage_metadata = Some(UsageMetadata {
        prompt_token_count: Some(10),
        candidates_token_count: Some(3),
        total_token_count: Some(15),
        cached_content_token_count: Some(4),
        thoughts_token_count: Some(2),
    });
    let (read, stored) = exchanged(event.clone()).await;
    assert_eq!(read, event);
    let native = stored.native.as_ref().unwrap();
    assert_eq!((native.format.as_str(), &native.content), (FORMAT, &serde_json::to_vec(&event).unwrap()));
    assert_eq!((stored.author.as_str(), stored.branch.as_str(), stored.invocation_id.as_str()), ("agent", "root.child", "i1"));
    let usage = stored.usage.unwrap();
    let counts = (usage.input_tokens, usage.output_tokens, usage.total_tokens, usage.cached_tokens, usage.reasoning_tokens);
    assert_eq!(counts, (10, 5, 15, 4, 2));
    assert_eq!(stored.event_time.as_ref().unwrap().seconds, 1_700_000_000);
    let kinds = kinds(&stored);
    assert!(matches!(&kinds[0], Kind::Reasoning(part) if part.text == "Hm." && part.signature.is_empty()));
    assert!(matches!(&kinds[1], Kind::Text(text) if text == "Look."));
    assert!(matches!(&kinds[2], Kind::Media(part) if part.source == Some(v1::media_part::Source::Data(b"\x89PNG".to_vec()))));
    assert!(matches!(&kinds[3], Kind::Media(part) if part.name == "b"));
    assert!(matches!(&kinds[4], Kind::ToolCall(part) if part.id == "c1" && part.arguments_json == r#"{"city":"Lisbon"}"#));
}

#[tokio::test]
async fn response_of_a_function_is_a_result_and_an_error_is_marked() {
    for (response, structured, text, is_error) in [
        (json!({"result": "sunny"}), "", Some("sunny"), false),
        (json!({"celsius": 21}), r#"{"celsius":21}"#, None, false),
        (json!({"error": "offline"}), "", Some("offline"), true),
        (json!({"result": [1]}), "[1]", None, false),
    ] {
        let part = Part::FunctionResponse(FunctionResponse::new("weather", response).with_id("c1"));
        let event = said(vec![part]);
        let (read, stored) = exchanged(event.clone()).await;
        assert_eq!(read, event);
        assert_eq!(stored.message.as_ref().unwrap().role(), threadkeep::Role::Tool);
        let kinds = kinds(&stored);
        let [Kind::ToolResult(result)] = kinds.as_slice() else { panic!("{stored:?}") };
        assert_eq!(
            (result.call_id.as_str(), result.name.as_str(), result.structured_json.as_str()),
            ("c1", "weather", structured)
        );
        assert_eq!(
            (result.parts.first().and_then(|part| part.content.clone()), result.is_error),
            (text.map(|t| Kind::Text(t.into())), is_error)
        );
    }
}

#[tokio::test]
async fn compaction_of_adk_rs_is_a_synthetic_event() {
    let mut event = Event::new("agent", adk_rs::core::LlmResponse::default());
    let compacted_content = Content { role: Role::Model, parts: vec![Part::text("They spoke of Lisbon.")] };
    event.actions.compaction = Some(EventCompaction { start_timestamp: 1.0, end_timestamp: 2.0, compacted_content });
    let (read, stored) = exchanged(event.clone()).await;
    assert_eq!(read, event);
    assert!(stored.synthetic);
    assert_eq!(stored.compaction_source, "google-adk");
    assert_eq!(threadkeep::text_of(&stored), "They spoke of Lisbon.");
}

#[tokio::test]
async fn events_of_other_frameworks_are_events_of_adk_rs() {
    let (service, session, handle) = session().await;
    let mut asked =
        threadkeep::user_with_parts([threadkeep::text("And this?"), threadkeep::media("image/png", "data:;base64,iVBORw==")]);
    asked.author = "ada".into();
    let mut calls = threadkeep::assistant_with_parts([
        threadkeep::reasoning("Hm."),
        threadkeep::tool_call("c1", "weather", json!({"city": "Oslo"})),
    ]);
    calls.author = "forecaster".into();
    calls.branch = "root.child".into();
    calls.invocation_id = "i1".into();
    let failed = threadkeep::tool_error("c1", "", "offline");
    handle.append([threadkeep::system("Be brief."), asked, calls, failed]).await.unwrap();
    let read = service.get_session(&session.app_name, "ada", "s", GetSessionConfig::default()).await.unwrap().unwrap();
    let authors: Vec<_> = read.events.iter().map(|event| event.author.as_str()).collect();
    assert_eq!(authors, ["system", "user", "forecaster", "assistant"]);
    assert_eq!((read.events[2].branch.as_deref(), read.events[2].invocation_id.as_str()), (Some("root.child"), "i1"));
    assert!(read.events.iter().all(|event| event.timestamp > 1_700_000_000.0));
    let parts: Vec<_> = read.events.iter().flat_map(|event| event.response.content.clone().unwrap().parts).collect();
    let expected = [
        Part::text("Be brief."),
        Part::text("And this?"),
        Part::inline_bytes("image/png", b"\x89PNG"),
        Part::thought("Hm."),
        Part::FunctionCall(adk_rs::genai_types::FunctionCall::new("weather", json!({"city": "Oslo"})).with_id("c1")),
        Part::FunctionResponse(FunctionResponse::new("weather", json!({"error": "offline"})).with_id("c1")),
    ];
    assert_eq!(parts, expected);
}

#[tokio::test]
async fn event_of_a_later_version_is_read_from_its_parts() {
    let (service, session, handle) = session().await;
    let mut event = threadkeep::assistant("Still readable.");
    event.native = Some(v1::NativeContent { format: FORMAT.into(), content: br#"{"author": 7}"#.to_vec() });
    handle.append([event]).await.unwrap();
    let read = service.get_session(&session.app_name, "ada", "s", GetSessionConfig::default()).await.unwrap().unwrap();
    assert_eq!(read.events[0].response.content.as_ref().unwrap().text_concat(), "Still readable.");
}
