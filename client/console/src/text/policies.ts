// Texts of policies and access.

export const policies = {
  title: "Policies and access",
  hint: "What compacts a session, and where that is set",
  noSession: "none",
  effective: "Policy in effect",
  none: "No policy applies: sessions are compacted on request only.",
  from: (level: string) => `It is set for: ${level.toLowerCase()}.`,
  order: "Where policies are set, the narrowest first",
  levels: { session: "The session", userInApp: "The user in the app", user: "The user", app: "The app", server: "The tenant", configuration: "The server's configuration" },
  inEffect: "in effect",
  overridden: "set, but a narrower one is in effect; set",
  notSet: "not set",
  notChosen: "not chosen",
  configurationHint: "compaction_policy",
  disabled: "Compaction is switched off here, even if a wider policy applies.",
  access: "Access",
  open: "You are not signed in: this server accepts calls without a token, with every role.",
  signedIn: "You are signed in with a token. The server checks its role on every call, and a refusal names the role that it needs.",
  roles: {
    reader: "Reads, and changes nothing.",
    writer: "Creates, appends, updates and consumes; also reads.",
    compactor: "Compacts and sets policies; also reads.",
    admin: "Deletes; also reads, writes and compacts.",
    ops: "Operates the server: totals and metrics.",
  },
} as const;
