//! The conformance driver: one line of JSON per request and per response; see the README of the suite.

use base64::{Engine, prelude::BASE64_STANDARD as BASE64};
use futures_util::future::{AbortHandle, abortable};
use prost::Message;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::{collections::BTreeMap, io, time::Duration};
use threadkeep::*;
use tokio::sync::Notify;
use tonic::transport::{Certificate, ClientTlsConfig, Identity};

mod methods;

use methods::method;

static CLIENTS: Mutex<BTreeMap<String, Client>> = Mutex::new(BTreeMap::new());
/// What ends the work for a consumer.
static STOPS: Mutex<BTreeMap<u64, Arc<Notify>>> = Mutex::new(BTreeMap::new());
static TASKS: Mutex<BTreeMap<u64, AbortHandle>> = Mutex::new(BTreeMap::new());

fn text<'a>(p: &'a Value, name: &str) -> &'a str {
    p[name].as_str().unwrap_or_default()
}

fn read<M: Message + Default>(packed: &Value) -> M {
    M::decode(BASE64.decode(packed.as_str().expect("text")).expect("base64").as_slice()).expect("a message")
}

fn packed(message: &impl Message) -> Value {
    BASE64.encode(message.encode_to_vec()).into()
}

fn reply(message: &impl Message) -> Result<Value, Error> {
    Ok(json!({ "response": packed(message) }))
}

fn session(client: Client, p: &Value) -> SessionHandle {
    let session: SessionRef = read(&p["session"]);
    let is_bare = session.app.is_empty() && session.user_id.is_empty();
    client.session(if is_bare { SessionLike::from(session.session_id) } else { session.into() })
}

/// The unary methods of each service, by their names in the generated clients, and which of them return lists.
macro_rules! rpcs {
    ($($service:ident: $($method:ident $request:ident $($pages:ident)?),*;)*) => {
        async fn call(client: &Client, p: &Value) -> Result<Value, Error> {
            match format!("{}Request", text(p, "rpc").rsplit('/').next().unwrap_or_default()).as_str() {
                $($($(stringify!($request) if p["op"] == stringify!($pages) => $pages::<v1::$request>(client, p).await,)?
                stringify!($request) => reply(client.raw().$service().$method(read::<v1::$request>(&p["request"])).await?.get_ref()),)*)*
                other => panic!("no method takes a {other}"),
            }
        }
    };
}

rpcs! {
    sessions: create_session CreateSessionRequest, fork_session ForkSessionRequest, move_session MoveSessionRequest, get_session GetSessionRequest, list_sessions ListSessionsRequest pages, list_users ListUsersRequest pages,
        update_session UpdateSessionRequest, delete_session DeleteSessionRequest,
        delete_expired_sessions DeleteExpiredSessionsRequest, delete_user DeleteUserRequest, delete_app DeleteAppRequest,
        delete_by_label DeleteByLabelRequest; tools: list_tools ListToolsRequest, call_tool CallToolRequest;
    states: get_state GetStateRequest, patch_state PatchStateRequest;
    events: append_events AppendEventsRequest, get_event GetEventRequest, list_events ListEventsRequest pages, list_user_events ListUserEventsRequest pages,
        get_context GetContextRequest, load_session LoadSessionRequest,
        list_branches ListBranchesRequest pages, list_usage ListUsageRequest pages, pop_events PopEventsRequest, rewind_session RewindSessionRequest,
        clear_events ClearEventsRequest, erase_events EraseEventsRequest,
        replace_suffix ReplaceSuffixRequest; searches: search_events SearchEventsRequest pages;
    memories: add_session_to_memory AddSessionToMemoryRequest, add_memories AddMemoriesRequest, search_memory SearchMemoryRequest,
        list_memories ListMemoriesRequest pages, upsert_memories UpsertMemoriesRequest, get_memories GetMemoriesRequest,
        list_memory_namespaces ListMemoryNamespacesRequest pages, delete_memories DeleteMemoriesRequest;
    compaction: compact_session CompactSessionRequest, plan_compaction PlanCompactionRequest,
        apply_compaction ApplyCompactionRequest, replace_events ReplaceEventsRequest, list_compactions ListCompactionsRequest pages,
        set_compaction_policy SetCompactionPolicyRequest, get_compaction_policy GetCompactionPolicyRequest;
    consumers: list_consumers ListConsumersRequest, get_consumer GetConsumerRequest, delete_consumer DeleteConsumerRequest,
        list_parked_changes ListParkedChangesRequest, replay_parked_changes ReplayParkedChangesRequest,
        delete_parked_changes DeleteParkedChangesRequest; server: get_server_info GetServerInfoRequest, list_audit_records ListAuditRecordsRequest pages,
        run_retention RunRetentionRequest, list_retention_receipts ListRetentionReceiptsRequest pages, restore_session RestoreSessionRequest;
}

async fn append(session: SessionHandle, p: &Value) -> Result<Value, Error> {
    let append = session.append(p["events"].as_array().into_iter().flatten().map(read::<SessionEvent>));
    let append = if p["create"] == true { append.create_if_missing() } else { append };
    let append = if p["ignore_existing"] == true { append.if_exists(IfExists::Ignore) } else { append };
    let append = if p["replace_existing"] == true { append.if_exists(IfExists::Replace) } else { append };
    let append = p["operation_id"].as_str().into_iter().fold(append, Append::operation_id);
    let delta: v1::StateDelta = p.get("state_delta").map(read).unwrap_or_default();
    let append = delta.session.into_iter().fold(append, Append::state);
    let append = delta.user.into_iter().fold(append, Append::user_state);
    let append = delta.app.into_iter().fold(append, Append::app_state);
    let version = p["expected_log_version"].as_str().map(|version| Expect::LogVersion(version.parse().expect("a number")));
    let last = p["expected_last_event_id"].as_str().map(|id| Expect::LastEventId(id.to_owned()));
    if version.is_some() && last.is_some() {
        return Err(Error::Usage("give at most one precondition".to_owned())); // which the crate's type cannot say
    }
    reply(&version.into_iter().chain(last).fold(append, Append::expect).await?.response)
}

fn reaching(client: &Client, p: &Value) -> Client {
    if p["all_users"] == true { client.all_users() } else { client.clone() }
}

async fn pages<R: Paged<Item: Message> + Message + Default>(client: &Client, p: &Value) -> Result<Value, Error> {
    let client = reaching(client, p);
    let items = client.list::<R>(read(&p["request"])).items().take(p["limit"].as_u64().unwrap_or(u64::MAX) as usize);
    Ok(json!({ "items": items.map_ok(|item| packed(&item)).try_collect::<Vec<_>>().await? }))
}

fn build(builder: &str, args: &Value) -> SessionEvent {
    let [said, id, name, author] = ["text", "call_id", "name", "author"].map(|name| text(args, name));
    let output = args["json"].as_str().map_or(said.into(), |json| ToolOutput::Json(json.to_owned()));
    let call = |call| tool_call(text(call, "id"), text(call, "name"), text(call, "arguments_json"));
    let built = match builder {
        "user" => user(said),
        "assistant" => assistant(said),
        "system" => system(said),
        "assistant_calls" => assistant_with_calls(said, args["calls"].as_array().into_iter().flatten().map(call)),
        _ => (if args["is_error"] == true { tool_error } else { tool_result })(id, name, output),
    };
    SessionEvent { author: author.into(), ..built }
}

async fn watch(client: &Client, p: &Value) -> Result<Value, Error> {
    let client = reaching(client, p);
    let (is_one, request) = (p["rpc"] == "SubscriptionService/WatchSession", &p["request"]);
    let watch =
        client.watch_request(if is_one { WatchRequest::Session(read(request)) } else { WatchRequest::All(read(request)) });
    let watch = if p["checkpoints"] == true { watch.checkpoints() } else { watch };
    let mut changes = p["max_retries"].as_u64().into_iter().fold(watch, |watch, n| watch.max_retries(n as u32)).items();
    loop {
        println!("{}", json!({ "id": p["id"], "item": packed(&changes.next().await.expect("it has no end")?) }));
    }
}

fn events_of(packed: &Value) -> Vec<SessionEvent> {
    packed.as_array().into_iter().flatten().map(read).collect()
}

async fn append_stream(session: SessionHandle, p: &Value) -> Result<Value, Error> {
    let (mut stream, mut receipts, mut results) = (session.append_stream().open(), Vec::new(), Vec::new());
    for batch in p["batches"].as_array().into_iter().flatten() {
        receipts.push(stream.send(events_of(batch)).await?);
    }
    stream.finish().await?;
    for receipt in receipts {
        results.push(match receipt.await {
            Ok(appended) => json!({ "response": packed(&appended.response) }),
            Err(error) => json!({ "error": failure(&error) }),
        });
    }
    Ok(json!({ "results": results }))
}

/// Appends and reads as a memory provider says.
async fn provided(session: SessionHandle, p: &Value) -> Result<Value, Error> {
    let session = session.with_memory(match text(p, "provider") {
        "none" => MemoryProvider::none(),
        "read_only" => MemoryProvider::read_only(),
        "write_only" => MemoryProvider::write_only(),
        _ => MemoryProvider::limited_window(),
    });
    let version = session.append(events_of(&p["events"])).await?.response.log_version;
    Ok(json!({ "response": packed(&session.get_context().await?), "log_version": version.to_string() }))
}

/// Works for a consumer until it is canceled. The handler parks and fails what the request says, and writes the others.
async fn consume(client: &Client, p: &Value) -> Result<Value, Error> {
    let (stop, failed, said) = (Arc::new(Notify::new()), Arc::new(AtomicBool::new(false)), p.clone());
    STOPS.lock().expect("no panic").insert(p["id"].as_u64().expect("an id"), stop.clone());
    let consumer = client.consumer(text(p, "name"));
    let consumer = if p["from_beginning"] == true { consumer.from_beginning() } else { consumer };
    let consumer = p["max_attempts"].as_u64().into_iter().fold(consumer, |consumer, n| consumer.max_attempts(n as u32));
    let run = consumer.run(move |delivery: Delivery| std::future::ready(handle(&said, &failed, &delivery.change)));
    run.until(async move { stop.notified().await }).await?;
    Ok(json!({}))
}

fn handle(p: &Value, failed: &AtomicBool, change: &Change) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    if let Some(v1::change::Kind::Batch(batch)) = &change.kind {
        let said = batch.events.first().map(text_of).unwrap_or_default();
        if p["park"] == said {
            return Err(Park::new("as requested").into());
        }
        if p["fail"] == said && !failed.swap(true, Ordering::SeqCst) {
            return Err("as requested".into());
        }
    }
    println!("{}", json!({ "id": p["id"], "item": packed(change) }));
    Ok(())
}

fn secrets(pem: &Value) -> ClientTlsConfig {
    let config = ClientTlsConfig::new().ca_certificate(Certificate::from_pem(text(pem, "ca")));
    match text(pem, "key") {
        "" => config,
        key => config.identity(Identity::from_pem(text(pem, "certificate"), key)),
    }
}

async fn answer(p: &Value) -> Result<Value, Error> {
    let (name, strategy) = (text(p, "client"), p.get("strategy").map(read::<v1::CompactionStrategy>));
    let summary = text(p, "summary").to_owned();
    let summarize = move |_| std::future::ready(Ok::<_, Error>(summary.clone()));
    let limit = p["timeout_ms"].as_u64().filter(|millis| *millis > 0).map(Duration::from_millis);
    let known = CLIENTS.lock().expect("no panic").get(name).cloned().ok_or_else(|| Error::Usage(format!("no client {name}")));
    let client = known.map(|known| if limit.is_some() { known.with_timeout(limit) } else { known });
    match text(p, "op") {
        "hello" => return Ok(json!({ "language": "rust", "version": VERSION })),
        "build" => return Ok(json!({ "event": packed(&build(text(p, "builder"), &p["args"])) })),
        "connect" => {
            let builder = Client::builder().address(text(p, "address")).token(text(p, "token"));
            let builder = if p["tls"].is_object() { builder.tls(secrets(&p["tls"])) } else { builder };
            let client = builder.app(text(p, "app")).user_id(text(p, "user_id")).build()?.with_timeout(limit);
            CLIENTS.lock().expect("no panic").insert(name.to_owned(), client);
        }
        "cancel" => {
            let target = p["target"].as_u64().expect("an id");
            match STOPS.lock().expect("no panic").get(&target) {
                Some(stop) => stop.notify_one(),
                None => TASKS.lock().expect("no panic")[&target].abort(),
            }
        }
        "close" => client?.close(),
        "append" => return append(session(client?, p), p).await,
        "method" => return method(&client?, p).await,
        "watch" => return watch(&client?, p).await,
        "consume" => return consume(&client?, p).await,
        "append_stream" => return append_stream(session(client?, p), p).await,
        "provided" => return provided(session(client?, p), p).await,
        "context" => {
            let context = session(client?, p).get_context();
            return reply(&context.with(|request| request.spec = p.get("spec").map(read)).await?);
        }
        "compact" => return reply(&session(client?, p).compact().with(|request| request.strategy = strategy).await?),
        "compact_with" => {
            let compaction = session(client?, p).compact_with(summarize);
            return reply(&strategy.into_iter().fold(compaction, CompactWith::strategy).await?.unwrap_or_default());
        }
        "compact_context" => {
            let seen = read(&p["context"]);
            return reply(&session(client?, p).compact_context(&seen, text(p, "summary")).await?);
        }
        _ => return call(&client?, p).await,
    }
    Ok(json!({}))
}

fn failure(error: &Error) -> Value {
    let name = if matches!(error, Error::Call { .. }) { format!("{:?}", error.code()) } else { "Usage".to_owned() };
    let words = name.char_indices().map(|(n, c)| if n > 0 && c.is_uppercase() { format!("_{c}") } else { c.to_string() });
    json!({
        "code": words.collect::<String>().to_uppercase(), "reason": error.reason_name(), "message": error.message(),
        "metadata": error.metadata(), "fields": error.violations().iter().map(|field| &field.field).collect::<Vec<_>>(),
        "retry_after_ms": error.retry_after().map(|after| after.as_millis() as u64),
    })
}

fn main() {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    for line in io::stdin().lines() {
        let p: Value = serde_json::from_str(&line.expect("a line")).expect("a request");
        let (id, (task, handle)) = (p["id"].as_u64().expect("an id"), abortable(async move { answer(&p).await }));
        TASKS.lock().expect("no panic").insert(id, handle);
        runtime.spawn(async move {
            let done = task.await.unwrap_or(Ok(json!({})));
            let (what, reported) = done.map_or_else(|error| ("error", failure(&error)), |ok| ("ok", ok));
            println!("{}", json!({ "id": id, what: reported }));
        });
    }
}
