// Every page and its address. A page is one segment below the console, with all else in the query: ids may contain slashes, which
// proxies decode, and the relative addresses of the scripts need one depth.

import { createRootRoute, createRoute, createRouter, redirect } from "@tanstack/react-router";

import { asError } from "./api/errors";
import { Shell } from "./components/shell";
import { Failure, NotFound } from "./components/states";
import { parseSearch, stringifySearch, textsOf } from "./search-params";
import { BASE } from "./place";
import { AccessPage } from "./pages/access/access-page";
import { ChangesPage } from "./pages/changes/changes-page";
import { ContextPage } from "./pages/context/context-page";
import { DetailsPage } from "./pages/details/details-page";
import { MemoriesPage } from "./pages/memories/memories-page";
import { OverviewPage } from "./pages/overview/overview-page";
import { PoliciesPage } from "./pages/policies/policies-page";
import { SearchPage } from "./pages/search/search-page";
import { SessionPage } from "./pages/session/session-page";
import { SessionsPage } from "./pages/sessions/sessions-page";

const root = createRootRoute({ component: Shell, notFoundComponent: NotFound });

const home = createRoute({
  getParentRoute: () => root,
  path: "/",
  beforeLoad: () => {
    throw redirect({ to: "/sessions", replace: true });
  },
});

const sessions = createRoute({
  getParentRoute: () => root,
  path: "/sessions",
  validateSearch: textsOf("app", "user", "prefix", "label", "since", "order"),
  component: SessionsPage,
});

const session = createRoute({
  getParentRoute: () => root,
  path: "/session",
  validateSearch: textsOf("app", "user", "id", "seq"),
  component: SessionPage,
});

const context = createRoute({
  getParentRoute: () => root,
  path: "/context",
  validateSearch: textsOf("app", "user", "id", "at", "turns", "tokens", "events", "branch", "without"),
  component: ContextPage,
});

const details = createRoute({
  getParentRoute: () => root,
  path: "/details",
  validateSearch: textsOf("app", "user", "id"),
  component: DetailsPage,
});

const search = createRoute({
  getParentRoute: () => root,
  path: "/search",
  validateSearch: textsOf("q", "app", "user", "id", "show"),
  component: SearchPage,
});

const memories = createRoute({
  getParentRoute: () => root,
  path: "/memories",
  validateSearch: textsOf("app", "user", "q", "namespace"),
  component: MemoriesPage,
});

const changes = createRoute({
  getParentRoute: () => root,
  path: "/changes",
  validateSearch: textsOf("app", "user", "show", "consumer"),
  component: ChangesPage,
});

const overview = createRoute({ getParentRoute: () => root, path: "/overview", component: OverviewPage });

const policies = createRoute({
  getParentRoute: () => root,
  path: "/policies",
  validateSearch: textsOf("app", "user", "id"),
  component: PoliciesPage,
});

const access = createRoute({
  getParentRoute: () => root,
  path: "/access",
  validateSearch: textsOf("method", "caller", "session", "outcome", "since"),
  component: AccessPage,
});

export const router = createRouter({
  routeTree: root.addChildren([home, sessions, session, context, details, search, memories, changes, overview, policies, access]),
  basepath: BASE,
  parseSearch,
  stringifySearch,
  defaultErrorComponent: ({ error }) => <Failure error={asError(error)} />,
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
