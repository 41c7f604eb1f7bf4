// Items of LangGraph's store as entries of long-term memory, in the layout of the Python SDK, and its filters as conditions.

import { getTextAtPath, type Item, type MatchCondition, type PutOperation, type SearchItem } from "@langchain/langgraph-checkpoint";
import { remember, textOf, type MemoryCondition, type MemoryEntry } from "@threadkeep/client";

import { sorted } from "../formats/json.js";

/** The author of the entries that a store wrote, whose metadata is the item's value. */
const AUTHOR = "langgraph.store";
/** The author of those that no query finds. */
export const UNINDEXED = "langgraph.store.unindexed";
const NO_TEXT = "\u00b7";
const MOST_CONDITIONS = 16;
const OPERATORS: Record<string, MemoryCondition["operator"]> = { $eq: "eq", $ne: "ne", $gt: "gt", $gte: "gte", $lt: "lt", $lte: "lte" };

type Value = Record<string, unknown>;

/** Returns the entry of an item to store. `fields`: the paths that are searched if the operation names none. */
export function entryOf({ namespace, key, value, index }: PutOperation, fields: readonly string[]): MemoryEntry {
  const paths = index === undefined ? fields : index === false ? [] : index;
  const texts = paths.flatMap((path) => textsAt(value!, path)).filter((text) => text.trim() !== "");
  const author = texts.length > 0 ? AUTHOR : UNINDEXED;
  return remember(texts.join("\n") || NO_TEXT, { id: key, namespace, author, metadata: JSON.stringify(value) });
}

/** Returns the texts at a path of a value; "$" is the whole value. */
const textsAt = (value: Value, path: string): string[] => (path === "$" ? [JSON.stringify(sorted(value))] : getTextAtPath(value, path));

/** Returns the item of an entry. */
export function itemOf(entry: MemoryEntry): Item {
  const { namespace, id: key, recordTime, updateTime } = entry;
  const date = (time: typeof recordTime) => new Date(time === undefined ? 0 : Number(time.seconds) * 1000 + Math.floor(time.nanos / 1e6));
  return { namespace: [...namespace], key, value: valueOf(entry), createdAt: date(recordTime), updatedAt: date(updateTime) };
}

/** Returns the item of an entry that was found. */
export const searchItemOf = (entry: MemoryEntry, scored: boolean): SearchItem => ({ ...itemOf(entry), ...(scored ? { score: entry.score } : {}) });

/** Returns the value of an entry. That of another writer's entry has its metadata, and its text as `text`. */
export function valueOf(entry: MemoryEntry): Value {
  const metadata = JSON.parse(entry.metadataJson || "{}") as Value;
  return entry.author === AUTHOR || entry.author === UNINDEXED ? metadata : { text: textOf(entry), ...metadata };
}

/** Returns the conditions of a filter that the server checks, and the part of the filter that is left. */
export function conditionsOf(filter: Value = {}): { conditions: MemoryCondition[]; left: Value } {
  const conditions: MemoryCondition[] = [];
  const left: Value = {};
  for (const [key, value] of Object.entries(filter)) {
    const compared = Object.entries(isComparison(value) ? value : { $eq: value });
    if (conditions.length + compared.length > MOST_CONDITIONS || !compared.every(([name, each]) => name in OPERATORS && isPlain(each))) {
      left[key] = value;
      continue;
    }
    conditions.push(...compared.map(([name, each]) => ({ key, operator: OPERATORS[name]!, value: each })));
  }
  return { conditions, left };
}

const isComparison = (value: unknown): value is Value =>
  typeof value === "object" && value !== null && Object.keys(value).some((name) => name.startsWith("$"));

/** Returns whether the server compares the value as LangGraph does: numbers with numbers, texts with texts. */
const isPlain = (value: unknown): boolean => ["string", "number", "boolean"].includes(typeof value);

/** Returns whether an item's value matches what is left of a filter. */
export const matches = (value: Value, left: Value): boolean => Object.entries(left).every(([key, wanted]) => matchesOne(value[key], wanted));

function matchesOne(value: unknown, wanted: unknown): boolean {
  if (isComparison(wanted)) return Object.entries(wanted).every(([operator, each]) => compares(value, operator, each));
  if (typeof wanted !== "object" || wanted === null) return value === wanted;
  return JSON.stringify(sorted(value)) === JSON.stringify(sorted(wanted));
}

function compares(value: unknown, operator: string, other: unknown): boolean {
  const [left, right] = typeof value === "string" && typeof other === "string" ? [value, other] : [Number(value), Number(other)];
  switch (operator) {
    case "$eq": return matchesOne(value, other);
    case "$ne": return !matchesOne(value, other);
    case "$gt": return left > right;
    case "$gte": return left >= right;
    case "$lt": return left < right;
    case "$lte": return left <= right;
    case "$in": return Array.isArray(other) && other.some((each) => matchesOne(value, each));
    case "$nin": return !(Array.isArray(other) && other.some((each) => matchesOne(value, each)));
    default: throw new TypeError(`the operator ${operator} of a filter is not known`);
  }
}

/** Returns whether a namespace begins, or ends, with a path, in which "*" is any label. */
export function namespaceMatches(namespace: readonly string[], { matchType, path }: MatchCondition): boolean {
  if (namespace.length < path.length) return false;
  const labels = matchType === "suffix" ? namespace.slice(namespace.length - path.length) : namespace;
  return path.every((label, place) => label === "*" || label === labels[place]);
}
