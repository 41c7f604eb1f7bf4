// Items of @openai/agents: from an item to an event, and back.
//
// `eventOf` stores an item twice: as the typed parts that every reader understands, and verbatim as the event's native content.
// The items are camelCase; those of the Python SDK, in the form of the Responses API, are another native format with the same
// typed parts.

import { Role, type Part, type SessionEvent } from "@threadkeep/client";
import type { MediaPart, ToolCallPart, ToolResultPart } from "@threadkeep/client/v1";

import { base64Of, jsonOf, valueOf } from "./json.js";
import {
  callPart, dataPart, eventWith, inlinePart, mediaPart, nativeText, reasoningPart, reasoningProvider, resultPart, resultText, textPart, textsOf,
  uploadedPart, urlOf, type EventContext, type EventDraft,
} from "./parts.js";

/** The native format of an item. */
export const NATIVE = "openai-agents-js.item/1";

const PROVIDER = "openai";

/** An item as plain JSON: the framework's own types are checked by its users. */
export type Item = Record<string, unknown>;

/** Returns the event of one item. */
export function eventOf(item: Item, context: EventContext = {}): EventDraft {
  const [role, parts] = projected(item);
  const event = eventWith(role, parts, NATIVE, jsonOf(item), role === Role.ASSISTANT ? context : { ...context, author: undefined });
  const encrypted = parts.some(({ content }) => content.case === "reasoning" && content.value.encrypted.length > 0);
  return {
    ...event,
    ...(encrypted ? { metadataJson: JSON.stringify({ reasoning_of: PROVIDER }) } : {}),
    ...(item["type"] === "compaction" ? { synthetic: true, compactionSource: "openai.responses.compact" } : {}),
  };
}

/** Returns the items of one event: the native one, else those of its parts. `names`: of tools, by the ids of their calls. */
export function itemsOf(event: SessionEvent, names: ReadonlyMap<string, string> = new Map()): Item[] {
  const native = nativeText(event, NATIVE);
  if (native !== undefined) return [valueOf(native) as Item];
  const { role = Role.USER, parts = [] } = event.message ?? {};
  if (role === Role.SYSTEM) return textsOf(parts) ? [{ type: "message", role: "system", content: textsOf(parts) }] : [];
  return rendered(parts, role === Role.USER ? userMessage : assistantMessage, names, reasoningProvider(event) === PROVIDER);
}

const text = (value: unknown): string => (typeof value === "string" ? value : "");

function projected(item: Item): [Role, Part[]] {
  const type = text(item["type"]) || "message";
  if (type === "message") return [ROLES[text(item["role"])] ?? Role.USER, contentParts(item["content"])];
  const callId = text(item["callId"]) || text(item["call_id"]) || text(item["id"]);
  if (type === "function_call") return [Role.ASSISTANT, [callPart(callId, text(item["name"]), text(item["arguments"]))]];
  if (type === "function_call_result") return [Role.TOOL, [resultPart(callId, text(item["name"]), outputContent(item["output"]))]];
  if (type === "reasoning") return [Role.ASSISTANT, [reasoned(item)]];
  if (type === "hosted_tool_call") return [Role.ASSISTANT, hosted(item, callId)];
  const input = CALLS[type];
  if (input !== undefined) {
    const value = input.map((name) => item[name]).find((each) => each !== undefined);
    const args = typeof value === "string" ? value : jsonOf(value ?? {});
    return [Role.ASSISTANT, [callPart(callId, type.replace(/_call$/, ""), args, type)]];
  }
  const tool = RESULTS[type];
  if (tool !== undefined) return [Role.TOOL, [resultPart(callId, tool, resultContent(item), isFailed(item))]];
  return [Role.ASSISTANT, [dataPart(`openai.${type}`, JSON.parse(jsonOf(item)))]];
}

const ROLES: Record<string, Role> = { user: Role.USER, assistant: Role.ASSISTANT, system: Role.SYSTEM };

/** The calls of tools that are no functions, with the members that have their input. */
const CALLS: Record<string, string[]> = {
  computer_call: ["actions", "action"],
  shell_call: ["action"],
  apply_patch_call: ["operation"],
  program: ["code"],
  tool_search_call: ["arguments"],
};

/** The results of these calls, with the name of the tool. */
const RESULTS: Record<string, string> = {
  computer_call_result: "computer",
  shell_call_output: "shell",
  apply_patch_call_output: "apply_patch",
  program_output: "program",
  tool_search_output: "tool_search",
};

function resultContent(item: Item): { parts?: Part[]; json?: string } {
  const output = item["output"] ?? item["tools"] ?? "";
  if (item["type"] === "computer_call_result") return { parts: [mediaPart(imageUrl(text((output as Item)["data"])))] };
  if (item["type"] !== "shell_call_output") return outputContent(output);
  const printed = chunksOf(item).flatMap(({ stdout, stderr }) => [text(stdout), text(stderr)].filter(Boolean));
  return { parts: printed.map(textPart), json: jsonOf(output) };
}

const chunksOf = (item: Item) => (Array.isArray(item["output"]) ? (item["output"] as Item[]) : []);

/** Returns whether a result says that the tool failed: a command that ended with another code than 0 has, too. */
function isFailed(item: Item): boolean {
  const outcomes = item["type"] === "shell_call_output" ? chunksOf(item).map(({ outcome }) => outcome as Item | undefined) : [];
  return item["status"] === "failed" || outcomes.some((each) => each?.["type"] === "timeout" || (each?.["exitCode"] ?? 0) !== 0);
}

/** Returns the content of a result: its texts and media, or as JSON what is neither. */
function outputContent(output: unknown): { parts?: Part[]; json?: string } {
  if (typeof output === "string") return { parts: [textPart(output)] };
  const all = Array.isArray(output) ? output : [output];
  const known = all.every((each) => CONTENT.has(text((each as Item | null)?.["type"])));
  return known ? { parts: contentParts(all) } : { json: jsonOf(output) };
}

const CONTENT = new Set(["text", "input_text", "output_text", "image", "input_image", "file", "input_file", "audio", "refusal"]);

function contentParts(content: unknown): Part[] {
  if (typeof content === "string") return [textPart(content)];
  return Array.isArray(content) ? content.map((each) => contentPart(each as Item)) : [];
}

function contentPart(content: Item): Part {
  const type = text(content["type"]);
  if (typeof content["text"] === "string") return textPart(content["text"]);
  if (type === "refusal") return dataPart("openai.refusal", content["refusal"]);
  if (type === "audio") return audioPart(content);
  const source = content["image"] ?? content["file"];
  if (source === undefined) return dataPart(`openai.${type}`, JSON.parse(jsonOf(content)));
  return sourcePart(source, type.endsWith("image"), { name: text(content["filename"]), detail: text(content["detail"]) });
}

/** Returns the part of an image or a file: text with its data or URL, or an object with its data, its URL or its id. */
function sourcePart(source: unknown, isImage: boolean, fields: { name: string; detail: string }): Part {
  const mimeType = isImage ? "image/*" : "application/octet-stream";
  if (typeof source === "string") return mediaPart(isImage ? imageUrl(source) : fileUrl(source), { ...fields, mimeType });
  const { data, mediaType, url, id, fileId, filename } = source as Item;
  const all = { detail: fields.detail, name: text(filename) || fields.name, mimeType: text(mediaType) || mimeType };
  if (data instanceof Uint8Array) return inlinePart(data, all);
  if (typeof data === "string") return mediaPart(data.startsWith("data:") ? data : `data:${all.mimeType};base64,${data}`, all);
  return typeof url === "string" ? mediaPart(url, all) : uploadedPart(text(id) || text(fileId), all);
}

/** Returns the URL of an image that is a URL or base64. */
const imageUrl = (image: string) => (/^[a-z][a-z0-9+.-]*:/i.test(image) ? image : `data:image/png;base64,${image}`);
const fileUrl = (file: string) => (/^[a-z][a-z0-9+.-]*:/i.test(file) ? file : `data:application/octet-stream;base64,${file}`);

function audioPart({ audio, format }: Item): Part {
  const mimeType = AUDIO[text(format)] ?? (format ? `audio/${text(format)}` : "audio/wav");
  if (typeof audio !== "string") return uploadedPart(text((audio as Item)["id"]), { mimeType });
  return mediaPart(audio.startsWith("data:") ? audio : `data:${mimeType};base64,${audio}`, { mimeType });
}

const AUDIO: Record<string, string> = { wav: "audio/wav", mp3: "audio/mpeg" };

function reasoned(item: Item): Part {
  const said = contentParts(item["content"]);
  const raw = contentParts(item["rawContent"]);
  const provider = (item["providerData"] ?? {}) as Item;
  return reasoningPart(textsOf(said) || textsOf(raw), text(provider["encrypted_content"]) || text(provider["encryptedContent"]));
}

function hosted(item: Item, callId: string): Part[] {
  const name = text(item["name"]);
  const output = item["output"] === undefined ? { json: jsonOf({ status: item["status"] }) } : outputContent(item["output"]);
  const call = callPart(callId, name, text(item["arguments"]), "hosted_tool_call");
  return [call, resultPart(callId, name, output, item["status"] === "failed")];
}

type Content = Record<string, unknown>;

/** Returns the items of parts: a message for each run of texts and media, and one item for each other part. */
function rendered(
  parts: readonly Part[],
  message: (content: Part[]) => Item[],
  names: ReadonlyMap<string, string>,
  ownReasoning: boolean,
): Item[] {
  const items: Item[] = [];
  let run: Part[] = [];
  const flush = () => {
    items.push(...(run.length > 0 ? message(run) : []));
    run = [];
  };
  for (const each of parts) {
    const own = ownItem(each, names, ownReasoning);
    if (own === undefined) {
      run.push(each);
      continue;
    }
    flush();
    items.push(...own);
  }
  flush();
  return items;
}

/** Returns the item of a part that is no content of a message: none for reasoning that only another provider can read. */
function ownItem({ content }: Part, names: ReadonlyMap<string, string>, ownReasoning: boolean): Item[] | undefined {
  if (content.case === "toolCall") return [callItem(content.value)];
  if (content.case === "toolResult") return [resultItem(content.value, names)];
  if (content.case !== "reasoning") return undefined;
  const { text: said, encrypted } = content.value;
  const sealed = ownReasoning && encrypted.length > 0 ? { providerData: { encrypted_content: new TextDecoder().decode(encrypted) } } : {};
  if (!said && !("providerData" in sealed)) return [];
  return [{ type: "reasoning", content: said ? [{ type: "input_text", text: said }] : [], ...sealed }];
}

function callItem({ id, name, argumentsJson }: ToolCallPart): Item {
  return { type: "function_call", callId: id, name, status: "completed", arguments: argumentsJson || "{}" };
}

function resultItem(result: ToolResultPart, names: ReadonlyMap<string, string>): Item {
  const name = result.name || names.get(result.callId) || "tool";
  const media = result.parts.some(({ content }) => content.case === "media");
  const output = media && !result.structuredJson ? result.parts.flatMap(userContent) : resultText(result);
  return { type: "function_call_result", callId: result.callId, name, status: "completed", output };
}

function userMessage(parts: Part[]): Item[] {
  const content = parts.flatMap(userContent);
  return content.length > 0 ? [{ type: "message", role: "user", content }] : [];
}

function userContent({ content }: Part): Content[] {
  if (content.case === "text") return [{ type: "input_text", text: content.value }];
  return content.case === "media" ? [mediaContent(content.value)] : [];
}

function mediaContent(media: MediaPart): Content {
  const uploaded = media.source.case === "fileId" ? { id: media.source.value } : undefined;
  const name = media.name ? { filename: media.name } : {};
  if (media.mimeType.startsWith("audio/") && media.source.case === "data") {
    const format = Object.keys(AUDIO).find((each) => AUDIO[each] === media.mimeType) ?? media.mimeType.slice("audio/".length);
    return { type: "audio", audio: base64Of(media.source.value), format };
  }
  if (media.mimeType.startsWith("image/") || (media.mimeType === "" && !media.name)) {
    return { type: "input_image", image: uploaded ?? urlOf(media), ...(media.detail ? { detail: media.detail } : {}) };
  }
  const file = media.source.case === "uri" ? { url: media.source.value } : (uploaded ?? urlOf(media));
  return { type: "input_file", file, ...name };
}

function assistantMessage(parts: Part[]): Item[] {
  const content = parts.flatMap(assistantContent);
  return content.length > 0 ? [{ type: "message", role: "assistant", status: "completed", content }] : [];
}

function assistantContent({ content }: Part): Content[] {
  if (content.case === "text") return [{ type: "output_text", text: content.value }];
  if (content.case === "data" && content.value.type === "openai.refusal") return [{ type: "refusal", refusal: JSON.parse(content.value.json) }];
  if (content.case !== "media") return [];
  const { mimeType, source } = content.value;
  if (mimeType.startsWith("image/") && source.case === "data") return [{ type: "image", image: base64Of(source.value) }];
  return [{ type: "output_text", text: source.case === "uri" ? source.value : `[${mimeType || "media"}]` }];
}
