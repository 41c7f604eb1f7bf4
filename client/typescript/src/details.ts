// Reading the details of an error. google.rpc has no published JavaScript stubs, and the few fields wanted of its messages are
// quicker read than generated.

import { BinaryReader, type WireType } from "@bufbuild/protobuf/wire";

/** What a server says of an error beside its code and message. */
export interface ErrorDetails {
  /** The reason of ErrorInfo; empty if there was none of Recollect's. */
  reason: string;
  /** The metadata of ErrorInfo. */
  info: Record<string, string>;
  /** The violations of BadRequest. */
  violations: FieldViolation[];
  /** The delay of RetryInfo in milliseconds. */
  retryAfterMs: number | undefined;
}

/** A field of a request that is not valid. */
export interface FieldViolation {
  /** Its path in the request, for example `events[3].message`. */
  field: string;
  /** Why. */
  description: string;
}

/** A detail as Connect hands it out: the type's full name, and the message. */
export interface PackedDetail {
  type: string;
  value: Uint8Array;
}

const DOMAIN = "recollect.dev";
const text = (reader: BinaryReader) => reader.string();

/** Reads what is known of the details; what is malformed is left out, since it must not hide the error. */
export function readDetails(details: Iterable<PackedDetail>): ErrorDetails {
  const read: ErrorDetails = { reason: "", info: {}, violations: [], retryAfterMs: undefined };
  for (const { type, value } of details) {
    try {
      if (type === "google.rpc.ErrorInfo") readErrorInfo(value, read);
      else if (type === "google.rpc.BadRequest") read.violations = readBadRequest(value);
      else if (type === "google.rpc.RetryInfo") read.retryAfterMs = readRetryInfo(value);
    } catch {
      continue;
    }
  }
  return read;
}

function readErrorInfo(bytes: Uint8Array, into: ErrorDetails): void {
  let reason = "";
  let domain = "";
  const info: Record<string, string> = {};
  fields(bytes, {
    1: (reader) => (reason = text(reader)),
    2: (reader) => (domain = text(reader)),
    3: (reader) => {
      let key = "";
      let value = "";
      fields(reader.bytes(), { 1: (entry) => (key = text(entry)), 2: (entry) => (value = text(entry)) });
      // Not an assignment: a key "__proto__" would be none.
      Object.defineProperty(info, key, { value, enumerable: true, configurable: true, writable: true });
    },
  });
  if (domain === DOMAIN) Object.assign(into, { reason, info });
}

function readBadRequest(bytes: Uint8Array): FieldViolation[] {
  const violations: FieldViolation[] = [];
  fields(bytes, {
    1: (reader) => {
      const violation = { field: "", description: "" };
      fields(reader.bytes(), {
        1: (entry) => (violation.field = text(entry)),
        2: (entry) => (violation.description = text(entry)),
      });
      violations.push(violation);
    },
  });
  return violations;
}

function readRetryInfo(bytes: Uint8Array): number {
  let milliseconds = 0;
  fields(bytes, {
    1: (reader) =>
      fields(reader.bytes(), {
        1: (delay) => (milliseconds += Number(delay.int64()) * 1000),
        2: (delay) => (milliseconds += delay.int32() / 1e6),
      }),
  });
  return milliseconds;
}

/** Has each field of a message read by its number's function, and skips the others. */
function fields(bytes: Uint8Array, readers: Record<number, (reader: BinaryReader) => unknown>): void {
  const reader = new BinaryReader(bytes);
  while (reader.pos < reader.len) {
    const [number, wireType]: [number, WireType] = reader.tag();
    const read = readers[number];
    if (read === undefined) reader.skip(wireType, number);
    else read(reader);
  }
}
