// Texts of the policies.

export const policies = {
  title: "Policies",
  hint: "What compacts a session, and where that is set",
  noSession: "none",
  effective: "Policy in effect",
  none: "No policy applies: sessions are compacted on request only.",
  from: (level: string) => `It is set for: ${level.toLowerCase()}.`,
  order: "Where policies are set, the narrowest first",
  levels: { session: "The session", userInApp: "The user in the app", user: "The user", app: "The app", server: "The tenant", configuration: "The server's configuration" },
  inEffect: "in effect",
  inEffectSet: "in effect; set",
  overridden: "set, but a narrower one is in effect; set",
  notSet: "not set",
  notChosen: "not chosen",
  configurationHint: "compaction_policy",
  disabled: "Compaction is switched off here, even if a wider policy applies.",
} as const;
