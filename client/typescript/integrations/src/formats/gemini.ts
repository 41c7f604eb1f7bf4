// Parts of Gemini's contents, as @google/genai has them: to parts of events, and back.

import { create } from "@bufbuild/protobuf";

import type { Part } from "@threadkeep/client";
import { PartSchema, type MediaPart, type ToolResultPart } from "@threadkeep/client/v1";

import { base64Of, bytesOf, parsed } from "./json.js";
import { callPart, dataPart, inlinePart, mediaPart, resultPart, textPart, textsOf } from "./parts.js";

/** The type of data parts that only Gemini knows. */
const TYPE = "gemini";
/** Members of a function's response that alone mean: this is all that it returned. */
const OUTPUTS = new Set(["result", "output", "error"]);

type Content = Record<string, unknown>;

const text = (value: unknown): string => (typeof value === "string" ? value : "");
const object = (value: unknown): Content => (typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Content) : {});
const bytes = (value: unknown): Uint8Array => (value instanceof Uint8Array ? value : bytesOf(text(value)));

/** Returns the parts of a content. */
export function contentParts(content: Content): Part[] {
  const parts = Array.isArray(content["parts"]) ? (content["parts"] as Content[]) : [];
  return parts.flatMap(partOf);
}

function partOf(part: Content): Part[] {
  const signature = bytes(part["thoughtSignature"]);
  if (part["thought"] === true && typeof part["text"] === "string") return [reasoned(part["text"], signature)];
  const before = signature.length > 0 ? [reasoned("", signature)] : [];
  if (typeof part["text"] === "string") return [...before, textPart(part["text"])];
  if (part["functionCall"] !== undefined) {
    const { id, name, args } = object(part["functionCall"]);
    return [...before, callPart(text(id), text(name), args === undefined ? "" : JSON.stringify(args))];
  }
  if (part["functionResponse"] !== undefined) return [...before, resultOf(object(part["functionResponse"]))];
  const media = mediaOf(part);
  if (media !== undefined) return [...before, media];
  const rest = Object.fromEntries(Object.entries(part).filter(([name]) => name !== "thoughtSignature"));
  return Object.keys(rest).length > 0 ? [...before, dataPart(TYPE, rest)] : before;
}

const reasoned = (said: string, signature: Uint8Array): Part => create(PartSchema, { content: { case: "reasoning", value: { text: said, signature } } });

/** Returns the result. A response with only "result", "output" or "error" is that value. */
function resultOf({ id, name, response, parts }: Content): Part {
  const values = object(response);
  const [only, ...others] = Object.keys(values);
  const value = only !== undefined && others.length === 0 && OUTPUTS.has(only) ? values[only] : response;
  const media = (Array.isArray(parts) ? (parts as Content[]) : []).flatMap((each) => mediaOf(each) ?? []);
  const said = typeof value === "string" ? [textPart(value)] : [];
  const json = typeof value === "string" || value === undefined ? {} : { json: JSON.stringify(value) };
  return resultPart(text(id), text(name), { parts: [...said, ...media], ...json }, values["error"] !== undefined && values["error"] !== null);
}

function mediaOf(part: Content): Part | undefined {
  if (part["inlineData"] !== undefined) {
    const { mimeType, data, displayName } = object(part["inlineData"]);
    return inlinePart(bytes(data), { mimeType: text(mimeType), name: text(displayName) });
  }
  if (part["fileData"] === undefined) return undefined;
  const { mimeType, fileUri, displayName } = object(part["fileData"]);
  return mediaPart(text(fileUri), { mimeType: text(mimeType), name: text(displayName) });
}

/** Returns parts as a content has them. `names`: of tools, by call ids. `signed`: with the signatures of the reasoning. */
export function partsOf(parts: readonly Part[], names: ReadonlyMap<string, string>, signed: boolean): Content[] {
  const found: Content[] = [];
  let signature: Content = {};
  for (const { content } of parts) {
    if (content.case === "reasoning" && signed && content.value.signature.length > 0) {
      signature = { thoughtSignature: base64Of(content.value.signature) };
    }
    for (const each of rendered(content, names)) {
      found.push({ ...each, ...signature });
      signature = {};
    }
  }
  return found;
}

function rendered(content: Part["content"], names: ReadonlyMap<string, string>): Content[] {
  switch (content.case) {
    case "text": return content.value ? [{ text: content.value }] : [];
    case "reasoning": return content.value.text ? [{ text: content.value.text, thought: true }] : [];
    case "toolCall": {
      const { id, name, argumentsJson } = content.value;
      return [{ functionCall: { id, name, args: jsonObject(argumentsJson) } }];
    }
    case "toolResult": {
      const media = content.value.parts.flatMap((part) => (part.content.case === "media" ? [mediaContent(part.content.value)] : []));
      return [{ functionResponse: responseOf(content.value, names) }, ...media];
    }
    case "media": return [mediaContent(content.value)];
    case "data": return content.value.type === TYPE ? [object(parsed(content.value.json))] : [];
    default: return [];
  }
}

function responseOf(result: ToolResultPart, names: ReadonlyMap<string, string>): Content {
  const response = result.structuredJson ? jsonObject(result.structuredJson) : { output: textsOf(result.parts) };
  const failure = { error: "output" in response ? response["output"] : response };
  return { id: result.callId, name: result.name || names.get(result.callId) || "unknown", response: result.isError ? failure : response };
}

/** Returns the object of a JSON text; another value is its member `input`, as models may write invalid JSON. */
function jsonObject(json: string): Content {
  const value = json.trim() ? (parsed(json) ?? json) : {};
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Content) : { input: value };
}

function mediaContent({ mimeType, name, source }: MediaPart): Content {
  const displayName = name ? { displayName: name } : {};
  if (source.case === "data") return { inlineData: { mimeType, data: base64Of(source.value), ...displayName } };
  return { fileData: { mimeType, fileUri: source.value ?? "", ...displayName } };
}
