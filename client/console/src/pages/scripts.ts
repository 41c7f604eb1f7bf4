// The scripts of the pages, by the segment of their address. Each is loaded when its page is opened.

export const scripts = {
  overview: () => import("./overview/overview-page"),
  sessions: () => import("./sessions/sessions-page"),
  session: () => import("./session/session-page"),
  context: () => import("./context/context-page"),
  details: () => import("./details/details-page"),
  search: () => import("./search/search-page"),
  memories: () => import("./memories/memories-page"),
  changes: () => import("./changes/changes-page"),
  policies: () => import("./policies/policies-page"),
  access: () => import("./access/access-page"),
};

export const isPage = (segment: string): segment is keyof typeof scripts => Object.hasOwn(scripts, segment);
