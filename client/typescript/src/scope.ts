// Completes the app and user of requests with the client's.

import { create, type MessageInitShape } from "@bufbuild/protobuf";

import { AppScopeSchema, UserScopeSchema, type SearchEventsRequestSchema } from "./gen/threadkeep/v1/search_service_pb.js";

/** Widens a request beyond the client's user or app, which otherwise replace empty fields. */
export interface Reach {
  /** Includes every user within the token's reach. Default: the client's user. */
  allUsers?: boolean | undefined;
  /** Includes every app. Default: the client's app, if it has one. An app of "" means sessions without an app. */
  allApps?: boolean | undefined;
}

type Owner = Readonly<{ app: string; userId: string }>;
type SearchScope = MessageInitShape<typeof SearchEventsRequestSchema>["scope"];

/** Returns the request with the client's user and app in its empty fields, unless `reach` includes all. */
export function narrowed<R extends { app?: string | undefined; userId?: string | undefined }>(own: Owner, request: R, reach: Reach): R {
  const app = request.app ?? (reach.allApps ? undefined : own.app || undefined);
  return { ...request, userId: request.userId || (reach.allUsers ? "" : own.userId), app };
}

/** Returns the scope of a search. Throws TypeError for all users of all apps, which the server does not support. */
export function searched(own: Owner, scope: SearchScope, reach: Reach): SearchScope {
  if (scope?.case === "session" || scope?.case === "app") return scope;
  const user = narrowed(own, scope?.value ?? {}, reach);
  if (user.userId || !reach.allUsers) return { case: "user", value: create(UserScopeSchema, user) };
  if (user.app === undefined) throw new TypeError("a search of all users requires one app; set app");
  return { case: "app", value: create(AppScopeSchema, { app: user.app }) };
}
