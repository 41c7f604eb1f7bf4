// The conformance driver: calls the SDK over JSON lines on stdin and stdout; see tests/conformance/README.md.

import { createInterface } from "node:readline";

import { fromBinary, toBinary, type DescMessage } from "@bufbuild/protobuf";

import * as sdk from "../src/node.js";

type Message = Record<string, any>;

const VERSION = "0.1.0";
const clients = new Map<string, sdk.Client>();
const watches = new Map<number, AbortController>();
const SERVICES = Object.values(sdk).filter((each): each is typeof sdk.EventService => (each as Message)["kind"] === "service");

const decode = <Desc extends DescMessage>(schema: Desc, base64: string) => fromBinary(schema, Buffer.from(base64, "base64"));
const maybe = <Desc extends DescMessage>(schema: Desc, base64?: string | null) => (base64 == null ? undefined : decode(schema, base64));
const encode = (schema: DescMessage, message: any) => Buffer.from(toBinary(schema, message)).toString("base64");
const write = (line: object) => process.stdout.write(`${JSON.stringify(line)}\n`);
const clientOf = (params: Message): sdk.Client => clients.get(params["client"])!;
const timing = ({ timeout_ms }: Message) => ({ timeoutMs: timeout_ms ?? undefined });

/** Returns the id alone if the reference has only an id, so that the SDK completes it. */
const orId = (ref?: sdk.SessionRef): sdk.SessionLike => (ref === undefined || ref.app || ref.userId ? ref! : ref.sessionId);
const sessionOf = ({ session }: Message) => orId(decode(sdk.SessionRefSchema, session));

function methodOf(rpc: string) {
  const [service, name] = rpc.split("/");
  return SERVICES.find((each) => each.name === service)!.methods.find((each) => each.name === name)!;
}

async function call(params: Message) {
  const method = methodOf(params["rpc"]);
  const service = clientOf(params).service(method.parent) as Message;
  const response = await service[method.localName]!(decode(method.input, params["request"]), timing(params));
  return { response: encode(method.output, response) };
}

async function append(params: Message) {
  const { expected_log_version: version, expected_last_event_id: last, create, ignore_existing: ignoreExisting } = params;
  const expected = { expectedLogVersion: version == null ? undefined : BigInt(version), expectedLastEventId: last ?? undefined };
  const events = params["events"].map((each: string) => decode(sdk.SessionEventSchema, each));
  const response = await clientOf(params).append(sessionOf(params), events, { ...timing(params), ...expected, create, ignoreExisting });
  return { response: encode(sdk.AppendEventsResponseSchema, response) };
}

function listOf(client: sdk.Client, { rpc, request: bytes, all_users: allUsers }: Message): [AsyncIterable<any>, DescMessage] {
  if (rpc.endsWith("ListSessions")) {
    return [client.sessions({ ...decode(sdk.ListSessionsRequestSchema, bytes), allUsers }), sdk.SessionSchema];
  }
  const request: Message = decode(methodOf(rpc).input, bytes);
  if (rpc.endsWith("ListEvents")) return [client.events(orId(request["session"]), request), sdk.SessionEventSchema];
  if (rpc.endsWith("ListMemories")) return [client.memory(request["scope"]).list(request), sdk.MemoryEntrySchema];
  if (rpc.endsWith("ListCompactions")) return [client.compactions(orId(request["session"]), request), sdk.CompactionSchema];
  const search = decode(sdk.SearchEventsRequestSchema, bytes);
  const session = search.scope.case === "session" ? orId(search.scope.value) : undefined;
  return [client.search(search.query, { ...search, session, allUsers }), sdk.SearchHitSchema];
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
  return sdk.toolResult({ callId, name, content: text ?? undefined, json: json ?? undefined, isError });
}

async function watch(params: Message, id: number) {
  const { input } = methodOf(params["rpc"]);
  const { start, filter, session, scope }: Message = decode(input, params["request"]);
  const stop = new AbortController();
  watches.set(id, stop);
  const whose = input === sdk.WatchSessionRequestSchema ? orId(session) : { scope: { ...scope }, allUsers: params["all_users"] };
  const { checkpoints, max_retries: maxRetries } = params;
  const begin = { [start.case ?? "liveOnly"]: start.value };
  const options = { ...begin, filter, checkpoints, maxRetries: maxRetries ?? undefined, signal: stop.signal };
  try {
    for await (const change of clientOf(params).watch(whose, options)) {
      write({ id, item: encode(sdk.ChangeSchema, change) });
    }
  } catch (error) {
    if (!stop.signal.aborted) throw error;
  }
  return {};
}

async function context(params: Message) {
  const spec = maybe(sdk.ContextSpecSchema, params["spec"]);
  return { response: encode(sdk.GetContextResponseSchema, await clientOf(params).context(sessionOf(params), spec, timing(params))) };
}

async function compact(params: Message) {
  const options = { ...timing(params), strategy: maybe(sdk.CompactionStrategySchema, params["strategy"]) };
  return { response: encode(sdk.CompactSessionResponseSchema, await clientOf(params).compact(sessionOf(params), options)) };
}

async function compactWith(params: Message) {
  const options = { ...timing(params), strategy: maybe(sdk.CompactionStrategySchema, params["strategy"]) };
  const applied = await clientOf(params).compactWith(sessionOf(params), () => params["summary"], options);
  return { response: applied ? encode(sdk.ApplyCompactionResponseSchema, applied) : "" };
}

async function compactContext(params: Message) {
  const seen = decode(sdk.GetContextResponseSchema, params["context"]);
  const applied = await clientOf(params).compactContext(sessionOf(params), seen, params["summary"], timing(params));
  return { response: encode(sdk.ApplyCompactionResponseSchema, applied) };
}

function open({ client, address, app, user_id: userId, token, timeout_ms, tls: pem }: Message) {
  const tls = pem && { ca: pem.ca, key: pem.key || undefined, cert: pem.certificate || undefined };
  clients.set(client, sdk.connect({ address, app, userId, token: token ?? "", timeoutMs: timeout_ms, tls }));
  return {};
}

const operations: Record<string, (params: Message, id: number) => object | Promise<object>> = {
  hello: () => ({ language: "typescript", version: VERSION }),
  connect: open,
  call, append, pages, context, compact, compact_with: compactWith, compact_context: compactContext,
  build: (params) => ({ event: encode(sdk.SessionEventSchema, build(params)) }),
  watch,
  cancel: (params) => (watches.get(params["target"])?.abort(), {}),
  close: (params) => (clientOf(params).close(), {}),
};

const NOTHING = { reason: "", metadata: {}, fields: [], retry_after_ms: null };

function failure(error: unknown) {
  if (!(error instanceof sdk.ThreadkeepError)) return { ...NOTHING, code: "USAGE", message: String(error) };
  const code = sdk.Code[error.code].replace(/(?<=.)[A-Z]/g, "_$&").toUpperCase().replace("CANCELED", "CANCELLED");
  const { reason, message, metadata, violations, retryAfterMs } = error;
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
