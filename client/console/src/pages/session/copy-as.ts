// An event in the forms of others: the messages of vendors' APIs, a call with curl, and code of an SDK.

import { toJson } from "@bufbuild/protobuf";
import type { SessionEvent } from "@threadkeep/client";
import { SessionEventSchema, type Part, type SessionRef } from "@threadkeep/client/v1";

import { roleOf } from "../../components/author";
import { SERVER } from "../../place";

type Json = Record<string, unknown>;

const pretty = (value: unknown) => JSON.stringify(value, null, 2);

/** Returns the arguments or a result as a value; the text itself if it is not JSON. */
function valueOf(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return json;
  }
}

const textsOf = (parts: readonly Part[]) => parts.flatMap(({ content }) => (content.case === "text" ? [content.value] : [])).join("\n");
const callsOf = (event: SessionEvent) => partsOf(event).flatMap(({ content }) => (content.case === "toolCall" ? [content.value] : []));
const resultsOf = (event: SessionEvent) => partsOf(event).flatMap(({ content }) => (content.case === "toolResult" ? [content.value] : []));
const partsOf = (event: SessionEvent) => event.message?.parts ?? [];

export function asJson(event: SessionEvent): string {
  return pretty(toJson(SessionEventSchema, event));
}

function asOpenAi(event: SessionEvent): string {
  const results = resultsOf(event);
  if (results.length > 0) {
    return pretty(results.map(({ callId, parts, structuredJson }) => ({ role: "tool", tool_call_id: callId, content: textsOf(parts) || structuredJson })));
  }
  const message: Json = { role: roleOf(event), content: textsOf(partsOf(event)) };
  const calls = callsOf(event);
  if (calls.length > 0) {
    message["tool_calls"] = calls.map(({ id, name, argumentsJson }) => ({ id, type: "function", function: { name, arguments: argumentsJson } }));
  }
  return pretty([message]);
}

function asAnthropic(event: SessionEvent): string {
  const said = textsOf(partsOf(event));
  const content: Json[] = [
    ...(said ? [{ type: "text", text: said }] : []),
    ...callsOf(event).map(({ id, name, argumentsJson }) => ({ type: "tool_use", id, name, input: valueOf(argumentsJson) })),
    ...resultsOf(event).map(({ callId, parts, structuredJson, isError }) => ({
      type: "tool_result",
      tool_use_id: callId,
      content: textsOf(parts) || structuredJson,
      ...(isError ? { is_error: true } : {}),
    })),
  ];
  return pretty([{ role: roleOf(event) === "assistant" ? "assistant" : "user", content }]);
}

function asGemini(event: SessionEvent): string {
  const said = textsOf(partsOf(event));
  const parts: Json[] = [
    ...(said ? [{ text: said }] : []),
    ...callsOf(event).map(({ name, argumentsJson }) => ({ functionCall: { name, args: valueOf(argumentsJson) } })),
    ...resultsOf(event).map(({ name, parts: inner, structuredJson }) => ({
      functionResponse: { name, response: valueOf(structuredJson || pretty({ result: textsOf(inner) })) },
    })),
  ];
  return pretty([{ role: roleOf(event) === "assistant" ? "model" : "user", parts }]);
}

const quoted = (word: string) => `'${word.replaceAll("'", "'\\''")}'`;

function asCurl(event: SessionEvent, { app, userId, sessionId }: SessionRef): string {
  const body = JSON.stringify({ session: { app, userId, sessionId }, eventId: event.eventId });
  return `curl -H "Authorization: Bearer $THREADKEEP_TOKEN" -d ${quoted(body)} \\\n  ${quoted(`${SERVER}/threadkeep.v1.EventService/GetEvent`)}`;
}

function asPython(event: SessionEvent, { app, userId, sessionId }: SessionRef): string {
  const [a, u, s, e] = [app, userId, sessionId, event.eventId].map((word) => JSON.stringify(word));
  return `from threadkeep import Client\n\nwith Client(app=${a}, user_id=${u}) as client:\n    event = client.get_event(${s}, ${e})`;
}

function asTypeScript(event: SessionEvent, { app, userId, sessionId }: SessionRef): string {
  const [a, u, s, e] = [app, userId, sessionId, event.eventId].map((word) => JSON.stringify(word));
  return `import { connect } from "@threadkeep/client";\n\nconst client = connect({ app: ${a}, userId: ${u} });\nconst event = await client.session(${s}).getEvent(${e});`;
}

/** The forms, each with its name. */
export const forms: readonly { name: string; make: (event: SessionEvent, ref: SessionRef) => string }[] = [
  { name: "JSON", make: asJson },
  { name: "OpenAI", make: asOpenAi },
  { name: "Anthropic", make: asAnthropic },
  { name: "Gemini", make: asGemini },
  { name: "curl", make: asCurl },
  { name: "Python", make: asPython },
  { name: "TypeScript", make: asTypeScript },
];

/** Returns the native content as text; undefined without one. */
export function nativeOf({ native }: SessionEvent): { format: string; text: string } | undefined {
  if (!native) return undefined;
  const decoded = new TextDecoder().decode(native.content);
  const value = valueOf(decoded);
  return { format: native.format, text: typeof value === "string" ? decoded : pretty(value) };
}
