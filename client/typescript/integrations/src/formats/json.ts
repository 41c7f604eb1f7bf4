// JSON of frameworks' values: what they keep in objects beyond JSON, which is bytes.

const BYTES = "$bytes";
const OBJECT = "$object";

/**
 * Returns the JSON text of a value. Uint8Array becomes `{"$bytes": "<base64>"}`; an object that looks like that is wrapped, so
 * that it comes back as it was. Members that are undefined are left out.
 */
export function jsonOf(value: unknown): string {
  return JSON.stringify(marked(value));
}

/** Returns the value of a JSON text of `jsonOf`. */
export function valueOf(text: string): unknown {
  return unmarked(JSON.parse(text));
}

/** Returns the value with the members of its objects in the order of their names: equal values have equal JSON. */
export function sorted<T>(value: T): T {
  if (Array.isArray(value)) return value.map(sorted) as T;
  if (!isObject(value)) return value;
  const members = Object.entries(value).sort(([left], [right]) => (left < right ? -1 : 1));
  return Object.fromEntries(members.map(([name, each]) => [name, sorted(each)])) as T;
}

/** Returns whether two values have the same JSON, whatever the order of members. */
export const sameJson = (left: unknown, right: unknown): boolean => jsonOf(sorted(left)) === jsonOf(sorted(right));

/** Returns the value of a JSON text, or undefined if it is not JSON. */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export const base64Of = (bytes: Uint8Array): string => Buffer.from(bytes).toString("base64");

export const bytesOf = (base64: string): Uint8Array => new Uint8Array(Buffer.from(base64, "base64"));

function marked(value: unknown): unknown {
  if (value instanceof Uint8Array) return { [BYTES]: base64Of(value) };
  if (Array.isArray(value)) return value.map(marked);
  if (!isObject(value)) return value;
  if (typeof value["toJSON"] === "function") return marked(value["toJSON"]()); // A date, for example.
  const copied = Object.fromEntries(Object.entries(value).map(([name, each]) => [name, marked(each)]));
  return BYTES in copied || OBJECT in copied ? { [OBJECT]: copied } : copied;
}

function unmarked(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(unmarked);
  if (!isObject(value)) return value;
  if (typeof value[BYTES] === "string") return bytesOf(value[BYTES]);
  const inner = isObject(value[OBJECT]) ? value[OBJECT] : value;
  return Object.fromEntries(Object.entries(inner).map(([name, each]) => [name, unmarked(each)]));
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Uint8Array);
