// Who wrote an event: in a color and a shape, so that the color alone is never needed.

import { Role, type SessionEvent } from "@threadkeep/client";

import { text } from "../text";

/** Colors of authors in the style sheet; eight that the common forms of color blindness keep distinct. */
const COLORS = 8;

const ROLES: Readonly<Partial<Record<Role, keyof typeof text.event.roles>>> = {
  [Role.USER]: "user",
  [Role.ASSISTANT]: "assistant",
  [Role.SYSTEM]: "system",
  [Role.TOOL]: "tool",
};

export function roleOf(event: SessionEvent): keyof typeof text.event.roles {
  return ROLES[event.message?.role ?? Role.UNSPECIFIED] ?? "unknown";
}

/** The colors of the authors of this tab, each by the author's name. */
const given = new Map<string, number>();

/** Returns the number of an author's color. The user and the system have fixed ones; others share a color only if none is left. */
export function colorOf(event: SessionEvent): number {
  const role = roleOf(event);
  if (role === "user" && !event.author) return 0;
  if (role === "system") return 1;
  const name = event.author || role;
  const known = given.get(name);
  if (known !== undefined) return known;
  let hash = 7;
  for (let at = 0; at < name.length; at++) hash = (hash * 31 + name.charCodeAt(at)) >>> 0;
  const others = COLORS - 2;
  const taken = new Set(given.values());
  const free = Array.from({ length: others }, (_, step) => 2 + ((hash + step) % others)).find((color) => !taken.has(color));
  const color = free ?? 2 + (hash % others);
  given.set(name, color);
  return color;
}

/** A letter in the author's color. */
export function AuthorMark({ event }: { event: SessionEvent }) {
  const name = event.author || text.event.roles[roleOf(event)];
  return (
    <span className="author-mark" data-color={colorOf(event)} title={name} aria-label={name} role="img">
      {[...name][0]?.toUpperCase() ?? "?"}
    </span>
  );
}
