// Completes the app and user of requests with the client's.

import { create, type MessageInitShape } from "@bufbuild/protobuf";

import { AppScopeSchema, UserScopeSchema, type SearchEventsRequestSchema } from "./gen/threadkeep/v1/search_service_pb.js";

/** Whose sessions a call covers: by default those of the client's user in the client's app. */
export interface Scope {
  /** User. Default: the client's. */
  userId?: string | undefined;
  /** App. Default: the client's, if it has one. "" means sessions without an app. */
  app?: string | undefined;
  /** Covers every user within the token's reach, unless `userId` is set. */
  anyUser?: boolean | undefined;
  /** Covers every app, unless `app` is set. */
  anyApp?: boolean | undefined;
}

type Owner = Readonly<{ app: string; userId: string }>;
type SearchScope = MessageInitShape<typeof SearchEventsRequestSchema>["scope"];

/** Returns app and user of a request: those of the scope, with the client's where they are empty, unless it covers any. */
export function narrowed(own: Owner, scope: Scope): { app: string | undefined; userId: string } {
  const app = scope.app ?? (scope.anyApp ? undefined : own.app || undefined);
  return { app, userId: scope.userId || (scope.anyUser ? "" : own.userId) };
}

/** Returns the scope of a search. Throws TypeError for any user of any app, which the server does not support. */
export function searched(own: Owner, scope: Scope): SearchScope {
  const user = narrowed(own, scope);
  if (user.userId || !scope.anyUser) return { case: "user", value: create(UserScopeSchema, user) };
  if (user.app === undefined) throw new TypeError("a search of any user requires one app; set app");
  return { case: "app", value: create(AppScopeSchema, { app: user.app }) };
}
