// The text of an event or a memory around what matches a query. Offsets of highlights are in code points of a field.

import type { ChatMessage } from "@threadkeep/client";
import { SearchField, type Highlight, type Part } from "@threadkeep/client/v1";
import { Fragment } from "react";

/** Code points that are shown, and of them before the first match. */
const SHOWN = 260;
const BEFORE = 60;

const texts = (parts: readonly Part[]) => parts.flatMap(({ content }) => (content.case === "text" ? [content.value] : []));

/** Returns the text of a field as highlights count it. */
export function fieldText(message: ChatMessage | undefined, field: SearchField): string {
  const parts = message?.parts ?? [];
  switch (field) {
    case SearchField.TOOL_CALLS:
      return parts.flatMap(({ content }) => (content.case === "toolCall" ? [`${content.value.name}\n${content.value.argumentsJson}`] : [])).join("\n");
    case SearchField.TOOL_RESULTS:
      return parts
        .flatMap(({ content }) => (content.case === "toolResult" ? [content.value.name, ...texts(content.value.parts), content.value.structuredJson] : []))
        .filter(Boolean)
        .join("\n");
    case SearchField.MEDIA:
      return parts.flatMap(({ content }) => (content.case === "media" ? [content.value.name] : [])).join("\n");
    default:
      return texts(parts).join("\n");
  }
}

/** Returns the field to show: that of the first match, else the first one that has a text. */
export function shownField(message: ChatMessage | undefined, highlights: readonly Highlight[]): SearchField {
  const all = [SearchField.TEXT, SearchField.TOOL_RESULTS, SearchField.TOOL_CALLS, SearchField.MEDIA];
  return highlights[0]?.field ?? all.find((field) => fieldText(message, field) !== "") ?? SearchField.TEXT;
}

/** Returns the words that match, each once, without case. */
export function matches(message: ChatMessage | undefined, highlights: readonly Highlight[]): string[] {
  const points = new Map<SearchField, string[]>();
  const words = highlights.map(({ field, start, end }) => {
    if (!points.has(field)) points.set(field, [...fieldText(message, field)]);
    return points.get(field)!.slice(start, end).join("").toLowerCase();
  });
  return [...new Set(words)];
}

/** The text around the first match, with every match marked. */
export function Excerpt({ message, highlights }: { message: ChatMessage | undefined; highlights: readonly Highlight[] }) {
  const field = shownField(message, highlights);
  const points = [...fieldText(message, field)];
  const within = highlights.filter((each) => each.field === field);
  const from = Math.max(0, Math.min((within[0]?.start ?? 0) - BEFORE, points.length - SHOWN));
  const to = Math.min(points.length, from + SHOWN);
  const pieces = within.filter(({ start, end }) => end > from && start < to);
  let at = from;
  return (
    <p className="excerpt">
      {from > 0 && "…"}
      {pieces.map(({ start, end }) => {
        const plain = points.slice(at, Math.max(at, start)).join("");
        const marked = points.slice(Math.max(at, start), Math.min(end, to)).join("");
        at = Math.min(end, to);
        return (
          <Fragment key={start}>
            {plain}
            <mark>{marked}</mark>
          </Fragment>
        );
      })}
      {points.slice(at, to).join("")}
      {to < points.length && "…"}
    </p>
  );
}
