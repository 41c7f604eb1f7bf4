// Texts of the frame around every page, of signing in, and of what a page shows while it waits or fails.

export const shell = {
  name: "Threadkeep",
  home: "Threadkeep, to the sessions",
  navigation: "Pages",
  skip: "Skip to the content",
  sessions: "Sessions",
  search: "Search",
  memories: "Memories",
  changes: "Changes",
  overview: "Overview",
  policies: "Policies",
  access: "Access",
  signOut: "Sign out",
} as const;

export const theme = { legend: "Colors", system: "As the system", light: "Light", dark: "Dark" } as const;

export const states = {
  loading: "Loading…",
  failed: "That did not work",
  retry: "Try again",
  keep: "Keep",
  noPage: "There is no such page",
  request: (id: string) => `Request ${id}: the server's log has more.`,
} as const;

export const live = {
  opening: "Connecting",
  live: "Live",
  away: "Reconnecting",
  failed: "Not live",
  hints: {
    opening: "Changes appear once the server has confirmed the subscription.",
    live: "Changes appear as they are committed.",
    away: "The server does not respond. Nothing is lost: changes appear when it is back.",
    failed: "Changes do not appear. Load the page again.",
  },
} as const;

export const signIn = {
  title: "Sign in to Threadkeep",
  token: "Token",
  submit: "Sign in",
  hint: "The token stays in this tab: it is forgotten when you sign out or close the tab.",
  plain: "This page came without TLS. Others on the network can read what you send, the token included.",
  needed: "This server needs a token. Its operator sets them as auth_tokens, or issues them with `threadkeep tokens create`.",
  refused: "The server refuses this token. It may have expired.",
  at: (host: string) => `Sign in at ${host}`,
  or: "Or with a token:",
  returning: "Signing in…",
  failures: {
    insecure: () => "Signing in there needs TLS: open the console by https, or on the server's own machine.",
    discovery: (detail: string) => `The issuer does not answer as it should. ${detail}`,
    origin: (detail: string) => `The issuer's token endpoint has another origin, which this page may not call: ${detail}`,
    unknown: () => "This sign-in was not begun in this tab, or it was used before. Begin again.",
    refused: (detail: string) => `The issuer refused: ${detail || "it gave no reason"}`,
    exchange: (detail: string) => `The issuer gave no token: ${detail}`,
    audience: (detail: string) => `The issuer's tokens are not for this server: their audience must be ${detail}.`,
  },
} as const;
