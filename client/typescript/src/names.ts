// Enum values by their names in lower case, as options accept them.

import { KeywordMatch, BranchMatch, LogView } from "./gen/threadkeep/v1/filter_pb.js";
import { Role } from "./gen/threadkeep/v1/message_pb.js";
import { SearchField, SearchMode } from "./gen/threadkeep/v1/search_pb.js";
import { HitGrouping } from "./gen/threadkeep/v1/search_service_pb.js";
import { SessionOrder } from "./gen/threadkeep/v1/session_service_pb.js";

type Numbered = Readonly<Record<string, string | number>>;
/** The names of an enum in lower case, without the value 0. */
type NameOf<E> = Exclude<Lowercase<keyof E & string>, "unspecified">;

/** A role of a message: "user", "assistant", "system" or "tool", or a value of Role. */
export type RoleName = NameOf<typeof Role> | Role;
/** The part of a log that is read: "active" or "history", or a value of LogView. */
export type ViewName = NameOf<typeof LogView> | LogView;
/** How keywords are combined: "any" or "all", or a value of KeywordMatch. */
export type MatchName = NameOf<typeof KeywordMatch> | KeywordMatch;
/** Which branches a branch selects: "visible" or "exact", or a value of BranchMatch. */
export type BranchName = NameOf<typeof BranchMatch> | BranchMatch;
/** How a query is interpreted: "auto", "ranked", "semantic", "hybrid" or "substring", or a value of SearchMode. */
export type ModeName = NameOf<typeof SearchMode> | SearchMode;
/** A field to search: "text", "tool_calls", "tool_results" or "media", or a value of SearchField. */
export type FieldName = NameOf<typeof SearchField> | SearchField;
/** How hits are grouped: "turn" or "session", or a value of HitGrouping. */
export type GroupingName = NameOf<typeof HitGrouping> | HitGrouping;

/** The order of sessions: "created_last_first" and so on, or a value of SessionOrder. */
export type OrderName = NameOf<typeof SessionOrder> | SessionOrder;

const valueIn =
  <E extends Numbered>(names: E) =>
  (given: string | number | undefined): number => {
    const value = typeof given === "string" ? names[given.toUpperCase()] : (given ?? 0);
    if (typeof value !== "number") throw new TypeError(`"${given}" is none of ${namesOf(names)}`);
    return value;
  };
const namesOf = (names: Numbered) =>
  Object.keys(names).filter((name) => /^[A-Z]/.test(name) && name !== "UNSPECIFIED").map((name) => name.toLowerCase()).join(", ");

/** Return the value of a name; 0 for none. They throw TypeError for an unknown name. */
export const roleOf: (given: RoleName) => Role = valueIn(Role);
export const viewOf: (given?: ViewName) => LogView = valueIn(LogView);
export const matchOf: (given?: MatchName) => KeywordMatch = valueIn(KeywordMatch);
export const branchMatchOf: (given?: BranchName) => BranchMatch = valueIn(BranchMatch);
export const modeOf: (given?: ModeName) => SearchMode = valueIn(SearchMode);
export const fieldOf: (given: FieldName) => SearchField = valueIn(SearchField);
export const groupingOf: (given?: GroupingName) => HitGrouping = valueIn(HitGrouping);
export const orderOf: (given?: OrderName) => SessionOrder = valueIn(SessionOrder);
