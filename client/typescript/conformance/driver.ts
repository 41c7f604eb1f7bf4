// The conformance driver: calls the SDK over JSON lines on stdin and stdout; see tests/conformance/README.md.

import { createInterface } from "node:readline";

import { create, fromBinary, toBinary, type DescMessage } from "@bufbuild/protobuf";

import * as sdk from "../src/node.js";
import * as pb from "../src/v1.js";

type Message = Record<string, any>;

const clients = new Map<string, sdk.Client>();
const watches = new Map<number, AbortController>();
const SERVICES = Object.values(pb).filter((each): each is typeof pb.EventService => (each as Message)["kind"] === "service");

const decode = <Desc extends DescMessage>(schema: Desc, base64: string) => fromBinary(schema, Buffer.from(base64, "base64"));
const maybe = <Desc extends DescMessage>(schema: Desc, base64?: string | null) => (base64 == null ? undefined : decode(schema, base64));
const encode = (schema: DescMessage, message: any) => Buffer.from(toBinary(schema, message)).toString("base64");
const write = (line: object) => process.stdout.write(`${JSON.stringify(line)}\n`);
const clientOf = (params: Message): sdk.Client => clients.get(params["client"])!;
const timing = ({ timeout_ms }: Message) => ({ timeoutMs: timeout_ms ?? undefined });

/** Returns the id alone if the reference has only an id, so that the SDK completes it. */
const orId = (ref?: sdk.SessionRef): sdk.SessionLike => (ref === undefined || ref.app || ref.userId ? ref! : ref.sessionId);
const sessionOf = (params: Message) => clientOf(params).session(orId(decode(pb.SessionRefSchema, params["session"])));

function methodOf(rpc: string) {
  const [service, name] = rpc.split("/");
  return SERVICES.find((each) => each.name === service)!.methods.find((each) => each.name === name)!;
}

async function call(params: Message) {
  const method = methodOf(params["rpc"]);
  const service = clientOf(params).raw(method.parent) as Message;
  const response = await service[method.localName]!(decode(method.input, params["request"]), timing(params));
  return { response: encode(method.output, response) };
}

const removal = ({ branch, mode, expectedLogVersion: version, operationId }: Message) =>
  ({ branch, operationId, erase: mode === pb.RemovalMode.ERASE, expect: version === undefined ? undefined : { logVersion: version } });

/** The fields of a request that has a point, as the options of the SDK's methods. */
const POINTS: Message = { atSeq: "seq", atEventId: "eventId", atInvocationId: "invocationId", atLogVersion: "logVersion" };
const pointOf = ({ point }: Message) => (point.case === undefined ? undefined : { [POINTS[point.case]]: point.value }) as sdk.Point;

const erasedOf = ({ eventIds, invocationIds, branch }: Message): sdk.ErasedEvents =>
  (branch ? { branch } : invocationIds.length > 0 ? { invocationIds } : eventIds);

function forked(client: sdk.Client, request: Message) {
  const { session, newSessionId, metadataJson: metadata, withoutParentLabels: without, ...rest } = request;
  return client.session(session).fork(newSessionId, { ...rest, at: pointOf(request), metadata, inheritLabels: !without });
}

async function updated(client: sdk.Client, { session, setLabels, etag, operationId }: Message) {
  return create(pb.UpdateSessionResponseSchema, { session: await client.session(session).update({ setLabels, etag, operationId }) });
}

function stateOf(client: sdk.Client, { scope, session }: Message) {
  if (scope === pb.StateScope.USER) return client.userState(session);
  return scope === pb.StateScope.APP ? client.appState(session.app) : client.session(session).state();
}

async function patched(client: sdk.Client, request: Message) {
  const { patch, expectedVersion: version } = request;
  const changes = { setJson: patch.set, remove: patch.remove, expect: version === undefined ? undefined : { version } };
  return create(pb.PatchStateResponseSchema, { version: BigInt(await stateOf(client, request).patch({}, changes)) });
}

async function stateRead(client: sdk.Client, request: Message) {
  const { texts, version } = await stateOf(client, request).get(request);
  return create(pb.GetStateResponseSchema, { state: { values: { ...texts }, version: BigInt(version) } });
}

async function lookedUp(client: sdk.Client, { names, refreshTtl }: Message) {
  const entries = await client.memory().getMany(names, { refreshTtl });
  return create(pb.GetMemoriesResponseSchema, { memories: entries.map((entry, n) => ({ name: names[n], entry })) });
}

/** The SDK's own methods, by their RPCs. */
const METHODS: Record<string, (client: sdk.Client, request: Message) => Promise<object>> = {
  PopEvents: (client, r) => client.session(r["session"]).pop(r["count"], removal(r)),
  ClearEvents: (client, r) => client.session(r["session"]).clear(removal(r)),
  EraseEvents: (client, r) => client.session(r["session"]).eraseEvents(erasedOf(r), removal(r)),
  ReplaceSuffix: (client, r) => client.session(r["session"]).replaceSuffix(r["expectedEventIds"], r["events"], removal(r)),
  RewindSession: (client, r) => client.session(r["session"]).rewind(pointOf(r), removal(r)),
  ForkSession: forked,
  MoveSession: (client, r) => client.session(r["session"]).move(r["newUserId"], { operationId: r["operationId"] }),
  LoadSession: (client, r) => client.session(r["session"]).load({ ...r, order: undefined, filter: undefined, context: undefined, stateScopes: r["stateScopes"].map((each: number) => pb.StateScope[each]!.toLowerCase()) }),
  UpdateSession: updated,
  ListSessions: (client, r) => client.sessionsPage(r),
  GetState: stateRead,
  PatchState: patched,
  UpsertMemories: (client, r) => client.memory().upsert(r["writes"], { ifExists: r["ifExists"] === pb.IfMemoryExists.IGNORE ? "ignore" : "replace" }),
  GetMemories: lookedUp,
};

async function method(params: Message) {
  const { input, output, name } = methodOf(params["rpc"]);
  return { response: encode(output, await METHODS[name]!(clientOf(params), decode(input, params["request"]))) };
}

async function append(params: Message) {
  const { expected_log_version: version, expected_last_event_id: last, create: createIfMissing, ignore_existing: ignore } = params;
  const both = { ...(version != null && { logVersion: BigInt(version) }), ...(last != null && { lastEventId: last }) } as sdk.Expect;
  const events = params["events"].map((each: string) => decode(pb.SessionEventSchema, each));
  const ifExists = ignore ? "ignore" : params["replace_existing"] ? "replace" : "replay";
  const { session, user, app } = maybe(pb.StateDeltaSchema, params["state_delta"]) ?? ({} as Partial<pb.StateDelta>);
  const changes = (patch?: pb.StatePatch) => patch && { setJson: patch.set, remove: patch.remove };
  const state = { state: changes(session), userState: changes(user), appState: changes(app), operationId: params["operation_id"] };
  const options: sdk.AppendOptions = { ...state, createIfMissing, expect: version == null && last == null ? undefined : both, ifExists };
  return { response: encode(pb.AppendEventsResponseSchema, await sessionOf(params).append(events, options, timing(params))) };
}

const dateOf = (time?: { seconds: bigint; nanos: number }) => time && new Date(Number(time.seconds) * 1000 + time.nanos / 1e6);

const momentOf = ({ case: name, value }: Message): sdk.Moment | undefined => (name === undefined ? undefined : name === "asOfSeq" ? { seq: value } : { logVersion: value });

function listOf(client: sdk.Client, { rpc, request: bytes, all_users: anyUser }: Message): [AsyncIterable<any>, DescMessage] {
  const request: Message = decode(methodOf(rpc).input, bytes);
  const session = () => client.session(orId(request["session"]));
  if (rpc.endsWith("ListSessions")) return [client.sessions({ ...request, updatedAfter: dateOf(request["updatedAfter"]), updatedBefore: dateOf(request["updatedBefore"]), anyUser }), pb.SessionSchema];
  if (rpc.endsWith("ListEvents")) return [session().events({ ...request, asOf: momentOf(request["asOf"]), order: [undefined, "asc", "desc"][request["order"]] as "asc" }), pb.SessionEventSchema];
  if (rpc.endsWith("ListMemories")) {
    const { filter } = request;
    const conditions = filter && { ...filter, fromTime: dateOf(filter.fromTime), toTime: dateOf(filter.toTime) };
    return [client.memory(request["scope"]).list({ ...request, filter: conditions }), pb.MemoryEntrySchema];
  }
  if (rpc.endsWith("ListAuditRecords")) return [client.auditRecords({ ...request, from: dateOf(request["fromTime"]), to: dateOf(request["toTime"]) }), pb.AuditRecordSchema];
  if (rpc.endsWith("ListUsers")) return [client.users(request), pb.UserRefSchema];
  if (rpc.endsWith("ListUserEvents")) return [client.userEvents({ ...request, userId: request["userId"] || undefined }), pb.UserEventSchema];
  if (rpc.endsWith("ListMemoryNamespaces")) return [namespaces(client, request), pb.MemoryNamespaceSchema];
  if (rpc.endsWith("ListBranches")) return [session().branches(request), pb.BranchSchema];
  if (rpc.endsWith("ListUsage")) return [session().usage(request), pb.UsageEntrySchema];
  if (rpc.endsWith("ListCompactions")) return [session().compactions(request), pb.CompactionSchema];
  const { query, scope, recency, referenceTime, ...rest } = decode(pb.SearchEventsRequestSchema, bytes);
  const halfLifeMs = recency?.halfLife && Number(recency.halfLife.seconds) * 1000 + recency.halfLife.nanos / 1e6;
  const options = { ...rest, referenceTime: dateOf(referenceTime), recency: recency && { halfLifeMs: halfLifeMs ?? 0, weight: recency.weight } };
  if (scope.case === "session") return [client.session(orId(scope.value)).search(query, options), pb.SearchHitSchema];
  return [client.search(query, { ...options, ...scope.value, anyUser: anyUser ?? scope.case === "app" }), pb.SearchHitSchema];
}

async function* namespaces(client: sdk.Client, request: Message) {
  for await (const labels of client.memory().namespaces(request)) yield create(pb.MemoryNamespaceSchema, { labels });
}

async function pages(params: Message) {
  const [list, schema] = listOf(clientOf(params), params);
  const items: string[] = [];
  for await (const item of list) {
    items.push(encode(schema, item));
    if (items.length === params["limit"]) break;
  }
  return { items };
}

function build({ builder, args }: Message) {
  const { text, author, calls = [], call_id: callId, name, json, is_error: isError } = args;
  const fields = { author: author ?? "" };
  const parts = calls.map((each: Message) => sdk.toolCall(each["id"], each["name"], each["arguments_json"]));
  if (builder === "user") return sdk.user(text, fields);
  if (builder === "system") return sdk.system(text, fields);
  if (builder === "assistant") return sdk.assistant(text, fields);
  if (builder === "assistant_calls") return sdk.assistant(text == null ? parts : [text, ...parts], fields);
  return (isError ? sdk.toolError : sdk.toolResult)(callId, { name, content: text ?? undefined, json: json ?? undefined }, fields);
}

async function watch(params: Message, id: number) {
  const { input } = methodOf(params["rpc"]);
  const { start, filter, session, scope }: Message = decode(input, params["request"]);
  const stop = new AbortController();
  watches.set(id, stop);
  const { checkpoints, max_retries } = params;
  const token = start.case === "resumeToken" ? { resumeToken: start.value } : undefined;
  const from = token ?? (start.case === "afterSeq" ? { afterSeq: start.value } : start.case === "fromBeginning" ? ("beginning" as const) : ("now" as const));
  const options = { from, filter, checkpoints, maxRetries: max_retries ?? undefined };
  const client = clientOf(params);
  const changes =
    input === pb.WatchSessionRequestSchema
      ? client.session(orId(session)).watch(options, { signal: stop.signal })
      : client.watchAll({ ...options, ...scope, anyUser: params["all_users"] }, { signal: stop.signal });
  try {
    for await (const change of changes) {
      write({ id, item: encode(pb.ChangeSchema, change) });
    }
  } catch (error) {
    if (!stop.signal.aborted) throw error;
  }
  return {};
}

const eventsOf = (packed: string[]) => packed.map((each) => decode(pb.SessionEventSchema, each));

async function appendStream(params: Message) {
  const session = orId(decode(pb.SessionRefSchema, params["session"]));
  const results: object[] = [];
  for await (const { appended, error } of clientOf(params).appendStream(params["batches"].map((each: string[]) => ({ session, events: eventsOf(each) })))) {
    results.push(error ? { error: failure(error) } : { response: encode(pb.AppendEventsResponseSchema, appended) });
  }
  return { results };
}

async function provided(params: Message) {
  const { limitedWindow, none, readOnly, writeOnly } = sdk.MemoryProvider;
  const providers: Record<string, () => sdk.MemoryProvider> = { limited_window: limitedWindow, none, read_only: readOnly, write_only: writeOnly };
  const session = sessionOf(params).withMemory(providers[params["provider"]]!.call(sdk.MemoryProvider));
  const { logVersion } = await session.append(eventsOf(params["events"]));
  return { response: encode(pb.GetContextResponseSchema, await session.getContext()), log_version: String(logVersion ?? 0) };
}

async function consume(params: Message, id: number) {
  const stop = new AbortController();
  watches.set(id, stop);
  let failed = false;
  const handle = ({ change }: sdk.Delivered) => {
    const said = change.kind.case === "batch" ? sdk.textOf(change.kind.value.events[0]!) : "";
    if (said === params["park"]) throw new sdk.Park("as requested");
    if (said === params["fail"] && !failed) {
      failed = true;
      throw new Error("as requested");
    }
    write({ id, item: encode(pb.ChangeSchema, change) });
  };
  const options = { from: params["from_beginning"] ? ("beginning" as const) : ("now" as const), maxAttempts: params["max_attempts"] ?? undefined };
  await clientOf(params).consumer(params["name"]).run(handle, options, { signal: stop.signal });
  return {};
}

async function context(params: Message) {
  const spec = maybe(pb.ContextSpecSchema, params["spec"]);
  return { response: encode(pb.GetContextResponseSchema, await sessionOf(params).getContext(spec, timing(params))) };
}

const strategyOf = (params: Message) => ({ strategy: maybe(pb.CompactionStrategySchema, params["strategy"]) });

async function compact(params: Message) {
  return { response: encode(pb.CompactSessionResponseSchema, await sessionOf(params).compact(strategyOf(params), timing(params))) };
}

async function compactWith(params: Message) {
  const applied = await sessionOf(params).compactWith(() => params["summary"], strategyOf(params), timing(params));
  return { response: applied ? encode(pb.ApplyCompactionResponseSchema, applied) : "" };
}

async function compactContext(params: Message) {
  const seen = decode(pb.GetContextResponseSchema, params["context"]);
  const applied = await sessionOf(params).compactContext(seen, params["summary"], {}, timing(params));
  return { response: encode(pb.ApplyCompactionResponseSchema, applied) };
}

function open({ client, address, app, user_id: userId, token, timeout_ms, tls: pem }: Message) {
  const tls = pem && { ca: pem.ca, key: pem.key || undefined, cert: pem.certificate || undefined };
  clients.set(client, sdk.connect({ address, app, userId, token: token ?? "", timeoutMs: timeout_ms, tls }));
  return {};
}

const operations: Record<string, (params: Message, id: number) => object | Promise<object>> = {
  hello: () => ({ language: "typescript", version: sdk.VERSION }),
  connect: open,
  call, method, append, pages, context, compact, compact_with: compactWith, compact_context: compactContext,
  build: (params) => ({ event: encode(pb.SessionEventSchema, build(params)) }),
  watch, consume, provided, append_stream: appendStream,
  cancel: (params) => (watches.get(params["target"])?.abort(), {}),
  close: (params) => (clientOf(params).close(), {}),
};

const NOTHING = { reason: "", metadata: {}, fields: [], retry_after_ms: null };

function failure(error: unknown) {
  if (!(error instanceof sdk.ThreadkeepError)) return { ...NOTHING, code: "USAGE", message: String(error) };
  const code = sdk.Code[error.code].replace(/(?<=.)[A-Z]/g, "_$&").toUpperCase().replace("CANCELED", "CANCELLED");
  const { reason, rawMessage: message, metadata, violations, retryAfterMs } = error;
  return { code, reason, message, metadata, fields: violations.map((each) => each.field), retry_after_ms: retryAfterMs ?? null };
}

createInterface({ input: process.stdin })
  .on("line", async (line) => {
    const { id, op, ...params } = JSON.parse(line);
    try {
      write({ id, ok: await operations[op]!(params, id) });
    } catch (error) {
      write({ id, error: failure(error) });
    }
  })
  .on("close", () => process.exit(0));
