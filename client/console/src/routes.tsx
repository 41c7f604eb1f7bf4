// Every page and its address. A page is one segment below the console, with all else in the query: ids may contain slashes, which
// proxies decode, and the relative addresses of the scripts need one depth.

import { createRootRouteWithContext, createRoute, createRouter, lazyRouteComponent, redirect } from "@tanstack/react-router";

import { asError } from "./api/errors";
import { Shell } from "./components/shell";
import { Failure, NotFound } from "./components/states";
import { parseSearch, stringifySearch, textsOf } from "./search-params";
import { BASE } from "./place";
import { scripts } from "./pages/scripts";
import { beginReading, type Reader } from "./pages/session/opening";

const root = createRootRouteWithContext<Reader>()({ component: Shell, notFoundComponent: NotFound });

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
  component: lazyRouteComponent(scripts.sessions, "SessionsPage"),
});

const sessionSearch = textsOf("app", "user", "id", "seq");
const session = createRoute({
  getParentRoute: () => root,
  path: "/session",
  validateSearch: sessionSearch,
  loaderDeps: ({ search: { app, user, id } }) => ({ app, user, id }),
  loader: ({ context, location }) => beginReading(context, sessionSearch(location.search)),
  shouldReload: false, // the page follows the session
  component: lazyRouteComponent(scripts.session, "SessionPage"),
});

const context = createRoute({
  getParentRoute: () => root,
  path: "/context",
  validateSearch: textsOf("app", "user", "id", "at", "turns", "tokens", "events", "branch", "without"),
  component: lazyRouteComponent(scripts.context, "ContextPage"),
});

const details = createRoute({
  getParentRoute: () => root,
  path: "/details",
  validateSearch: textsOf("app", "user", "id"),
  component: lazyRouteComponent(scripts.details, "DetailsPage"),
});

const search = createRoute({
  getParentRoute: () => root,
  path: "/search",
  validateSearch: textsOf("q", "app", "user", "id", "show"),
  component: lazyRouteComponent(scripts.search, "SearchPage"),
});

const memories = createRoute({
  getParentRoute: () => root,
  path: "/memories",
  validateSearch: textsOf("app", "user", "q", "namespace"),
  component: lazyRouteComponent(scripts.memories, "MemoriesPage"),
});

const changes = createRoute({
  getParentRoute: () => root,
  path: "/changes",
  validateSearch: textsOf("app", "user", "show", "consumer"),
  component: lazyRouteComponent(scripts.changes, "ChangesPage"),
});

const overview = createRoute({ getParentRoute: () => root, path: "/overview", component: lazyRouteComponent(scripts.overview, "OverviewPage") });

const policies = createRoute({
  getParentRoute: () => root,
  path: "/policies",
  validateSearch: textsOf("app", "user", "id"),
  component: lazyRouteComponent(scripts.policies, "PoliciesPage"),
});

const access = createRoute({
  getParentRoute: () => root,
  path: "/access",
  validateSearch: textsOf("method", "caller", "session", "outcome", "since"),
  component: lazyRouteComponent(scripts.access, "AccessPage"),
});

export const router = createRouter({
  routeTree: root.addChildren([home, sessions, session, context, details, search, memories, changes, overview, policies, access]),
  basepath: BASE,
  context: undefined!, // given by the application
  parseSearch,
  stringifySearch,
  defaultErrorComponent: ({ error }) => <Failure error={asError(error)} />,
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
