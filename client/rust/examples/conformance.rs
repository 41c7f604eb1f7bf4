//! What the conformance suite speaks to: a line of JSON is a request, a line of JSON is an answer; see the suite's README.

use std::{collections::HashMap, io, sync::LazyLock, sync::Mutex, sync::MutexGuard, time::Duration};

use base64::{Engine, prelude::BASE64_STANDARD as BASE64};
use futures_util::{StreamExt, TryStreamExt};
use prost::Message;
use recollect::{Client, Error, Paged, SessionEvent, SessionLike, SessionRef, ToolOutput, v1};
use serde_json::{Map, Value, json};
use tokio::task::AbortHandle;

type Parameters = Map<String, Value>;

static CLIENTS: LazyLock<Mutex<HashMap<String, Client>>> = LazyLock::new(Mutex::default);
static WATCHES: LazyLock<Mutex<HashMap<u64, AbortHandle>>> = LazyLock::new(Mutex::default);

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("no task panics while it holds it")
}

fn text<'a>(p: &'a Parameters, name: &str) -> &'a str {
    p.get(name).and_then(Value::as_str).unwrap_or_default()
}

fn flag(p: &Parameters, name: &str) -> bool {
    p.get(name).and_then(Value::as_bool).unwrap_or_default()
}

fn read<M: Message + Default>(packed: &str) -> Result<M, Error> {
    let bytes = BASE64.decode(packed).map_err(|error| Error::Usage(error.to_string()))?;
    M::decode(bytes.as_slice()).map_err(|error| Error::Usage(error.to_string()))
}

fn optional<M: Message + Default>(p: &Parameters, name: &str) -> Result<Option<M>, Error> {
    p.get(name).and_then(Value::as_str).map(read).transpose()
}

fn packed(message: &impl Message) -> Value {
    BASE64.encode(message.encode_to_vec()).into()
}

fn limit(p: &Parameters) -> Option<Duration> {
    p.get("timeout_ms").and_then(Value::as_u64).filter(|millis| *millis > 0).map(Duration::from_millis)
}

fn session(p: &Parameters) -> Result<SessionLike, Error> {
    let session: SessionRef = read(text(p, "session"))?;
    let bare = session.app.is_empty() && session.user_id.is_empty();
    Ok(if bare { session.session_id.into() } else { session.into() })
}

/// The unary methods of each service, as the generated clients name them.
macro_rules! call {
    ($client:expr, $p:expr; $($service:ident: $($method:ident($request:ident))*;)*) => {{
        let wanted = text($p, "rpc").rsplit('/').next().unwrap_or_default().to_lowercase();
        $($(if stringify!($method).replace('_', "") == wanted {
            let response = $client.$service().$method(read::<v1::$request>(text($p, "request"))?).await?;
            return Ok(json!({ "response": packed(response.get_ref()) }));
        })*)*
        Err(Error::Usage(format!("no method {wanted}")))
    }};
}

async fn call(client: &Client, p: &Parameters) -> Result<Value, Error> {
    call! { client, p;
        sessions: create_session(CreateSessionRequest) get_session(GetSessionRequest) list_sessions(ListSessionsRequest)
            update_session(UpdateSessionRequest) delete_session(DeleteSessionRequest)
            delete_expired_sessions(DeleteExpiredSessionsRequest);
        events: append_events(AppendEventsRequest) get_event(GetEventRequest) list_events(ListEventsRequest)
            get_context(GetContextRequest);
        compaction: compact_session(CompactSessionRequest) plan_compaction(PlanCompactionRequest)
            apply_compaction(ApplyCompactionRequest) replace_events(ReplaceEventsRequest)
            list_compactions(ListCompactionsRequest) set_compaction_policy(SetCompactionPolicyRequest)
            get_compaction_policy(GetCompactionPolicyRequest);
        recall: search_events(SearchEventsRequest);
        server: get_server_info(GetServerInfoRequest);
        consumers: list_consumers(ListConsumersRequest) get_consumer(GetConsumerRequest)
            delete_consumer(DeleteConsumerRequest) list_parked_changes(ListParkedChangesRequest)
            replay_parked_changes(ReplayParkedChangesRequest) delete_parked_changes(DeleteParkedChangesRequest);
    }
}

async fn append(client: &Client, p: &Parameters) -> Result<Value, Error> {
    let events = p["events"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let events: Vec<SessionEvent> = events.map(read).collect::<Result<_, _>>()?;
    let mut append = client.append(session(p)?, events);
    if flag(p, "create") {
        append = append.create();
    }
    if flag(p, "ignore_existing") {
        append = append.ignore_existing();
    }
    if let Some(version) = p.get("expected_log_version").and_then(Value::as_str) {
        append = append.expected_log_version(version.parse().map_err(|_| Error::Usage(version.to_owned()))?);
    }
    if let Some(last) = p.get("expected_last_event_id").and_then(Value::as_str) {
        append = append.expected_last_event_id(last);
    }
    Ok(json!({ "response": packed(&append.await?) }))
}

async fn pages<R: Paged<Item: Message> + Message + Default>(client: &Client, p: &Parameters) -> Result<Value, Error> {
    let limit = p.get("limit").and_then(Value::as_u64).map_or(usize::MAX, |limit| limit as usize);
    let found = client.pages::<R>(read(text(p, "request"))?).take(limit);
    Ok(json!({ "items": found.map_ok(|item| packed(&item)).try_collect::<Vec<_>>().await? }))
}

fn build(p: &Parameters) -> Result<Value, Error> {
    let Some(args) = p["args"].as_object() else { return Err(Error::Usage("no args".to_owned())) };
    let built = match text(p, "builder") {
        "user" => recollect::user(text(args, "text")),
        "assistant" => recollect::assistant(text(args, "text")),
        "system" => recollect::system(text(args, "text")),
        "assistant_calls" => {
            let calls = args["calls"].as_array().into_iter().flatten().filter_map(Value::as_object);
            let calls =
                calls.map(|call| recollect::tool_call(text(call, "id"), text(call, "name"), text(call, "arguments_json")));
            recollect::assistant_with_calls(text(args, "text"), calls)
        }
        "tool_result" => {
            let json = args.get("json").and_then(Value::as_str).map(|json| ToolOutput::Json(json.to_owned()));
            let output = json.unwrap_or_else(|| text(args, "text").into());
            let make = if flag(args, "is_error") { recollect::tool_error } else { recollect::tool_result };
            make(text(args, "call_id"), text(args, "name"), output)
        }
        other => return Err(Error::Usage(format!("no builder {other}"))),
    };
    Ok(json!({ "event": packed(&SessionEvent { author: text(args, "author").into(), ..built }) }))
}

async fn watch(client: &Client, p: &Parameters) -> Result<Value, Error> {
    let mut watch = match text(p, "rpc") {
        "SubscriptionService/WatchSession" => client.watch_request(read::<v1::WatchSessionRequest>(text(p, "request"))?),
        _ => client.watch_request(read::<v1::WatchAllRequest>(text(p, "request"))?),
    };
    if flag(p, "checkpoints") {
        watch = watch.checkpoints();
    }
    if let Some(retries) = p.get("max_retries").and_then(Value::as_u64) {
        watch = watch.max_retries(retries as u32);
    }
    let mut changes = watch.stream();
    while let Some(change) = changes.next().await {
        println!("{}", json!({ "id": p["id"], "item": packed(&change?) }));
    }
    Ok(json!({}))
}

fn connect(p: &Parameters) -> Result<Value, Error> {
    let builder = Client::builder().address(text(p, "address")).token(text(p, "token")).timeout(limit(p));
    let client = builder.app(text(p, "app")).user_id(text(p, "user_id")).build()?;
    held(&CLIENTS).insert(text(p, "client").to_owned(), client);
    Ok(json!({}))
}

async fn answer(p: &Parameters) -> Result<Value, Error> {
    match text(p, "op") {
        "hello" => return Ok(json!({ "language": "rust", "version": recollect::VERSION })),
        "connect" => return connect(p),
        "build" => return build(p),
        "cancel" => {
            let target = p.get("target").and_then(Value::as_u64).and_then(|id| held(&WATCHES).remove(&id));
            target.inspect(AbortHandle::abort);
            return Ok(json!({}));
        }
        _ => {}
    }
    let client = held(&CLIENTS).get(text(p, "client")).cloned();
    let mut client = client.ok_or_else(|| Error::Usage(format!("no client {}", text(p, "client"))))?;
    if let Some(limit) = limit(p) {
        client = client.with_timeout(limit);
    }
    let response = match text(p, "op") {
        "call" => return call(&client, p).await,
        "append" => return append(&client, p).await,
        "watch" => return watch(&client, p).await,
        "pages" => match text(p, "rpc").rsplit('/').next() {
            Some("ListSessions") => return pages::<v1::ListSessionsRequest>(&client, p).await,
            Some("ListEvents") => return pages::<v1::ListEventsRequest>(&client, p).await,
            Some("SearchEvents") => return pages::<v1::SearchEventsRequest>(&client, p).await,
            _ => return pages::<v1::ListCompactionsRequest>(&client, p).await,
        },
        "context" => packed(&client.context(session(p)?, optional::<v1::ContextSpec>(p, "spec")?).await?),
        "compact" => packed(&client.compact(session(p)?, optional::<v1::CompactionStrategy>(p, "strategy")?).await?),
        "compact_with" => {
            let summarise = async |_| Ok::<_, Error>(text(p, "summary").to_owned());
            let strategy = optional::<v1::CompactionStrategy>(p, "strategy")?;
            client.compact_with(session(p)?, strategy, summarise).await?.map_or("".into(), |done| packed(&done))
        }
        _ => {
            client.close();
            return Ok(json!({}));
        }
    };
    Ok(json!({ "response": response }))
}

/// "NotFound" as gRPC writes it: "NOT_FOUND".
fn canonical(code: &str) -> String {
    let name: String = code.chars().flat_map(|c| c.is_uppercase().then_some('_').into_iter().chain([c])).collect();
    name.trim_start_matches('_').to_uppercase()
}

fn failure(error: &Error) -> Value {
    let code = match error {
        Error::Call(_) => canonical(&format!("{:?}", error.code())),
        _ => "USAGE".to_owned(),
    };
    let fields: Vec<_> = error.fields().iter().map(|field| &field.field).collect();
    json!({
        "code": code, "reason": error.reason_name(), "message": error.to_string(), "metadata": error.metadata(),
        "fields": fields, "retry_after_ms": error.retry_after().map(|after| after.as_millis() as u64),
    })
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> io::Result<()> {
    let (lines, mut requests) = tokio::sync::mpsc::channel(64);
    std::thread::spawn(move || io::stdin().lines().map_while(Result::ok).try_for_each(|line| lines.blocking_send(line)));
    while let Some(line) = requests.recv().await {
        let Value::Object(p) = serde_json::from_str(&line)? else { continue };
        let (id, is_watch) = (p["id"].as_u64().unwrap_or_default(), text(&p, "op") == "watch");
        let task = tokio::spawn(async move { answer(&p).await });
        if is_watch {
            held(&WATCHES).insert(id, task.abort_handle());
        }
        tokio::spawn(async move {
            match task.await {
                Ok(Ok(ok)) => println!("{}", json!({ "id": id, "ok": ok })),
                Ok(Err(error)) => println!("{}", json!({ "id": id, "error": failure(&error) })),
                Err(ended) if ended.is_cancelled() => println!("{}", json!({ "id": id, "ok": {} })),
                Err(ended) => println!("{}", json!({ "id": id, "error": failure(&Error::Usage(ended.to_string())) })),
            }
        });
    }
    Ok(())
}
