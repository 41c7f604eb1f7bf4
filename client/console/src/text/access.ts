// Texts of the access page.

import { short, whole } from "../components/numbers";

export const access = {
  title: "Access",
  hint: "Who you are to the server, and what you may use",
  who: "Who am I",
  open: "This server needs no credential: every caller reaches the tenant below, with every role.",
  signedIn: "The server knows you by your token.",
  tenant: "Tenant",
  app: "App",
  anyApp: "every app",
  user: "User",
  anyUser: "every user",
  expires: "Expires",
  never: "never",
  roles: "Roles",
  noRoles: "This credential has no role: it may read this page, and nothing else. Its issuer grants roles.",
  has: "you have it",
  hasNot: "you do not have it",
  can: {
    reader: "Reads, and changes nothing.",
    writer: "Creates, appends, updates and consumes; also reads.",
    compactor: "Compacts and sets policies; also reads.",
    admin: "Deletes; also reads, writes and compacts.",
    ops: "Operates the server: totals and metrics.",
  },
  hides: "The console leaves out what your roles do not allow. The server checks every call all the same.",
  quotas: "Limits",
  noQuotas: "No limits are configured. These settings set them:",
  quotaSettings: "caller_requests_per_second, caller_search_seconds_per_second, max_streams_per_caller, max_sessions_per_tenant, max_events_per_tenant",
  quota: (name: string): string => NAMES[name] ?? name.replaceAll("_", " "),
  used: (used: number, limit: number) => `${amount(used)} of ${amount(limit)}`,
  most: (limit: number) => `at most ${amount(limit)}`,
  unknown: "what is used is not known, or not for this credential",
  unsaid: "Older servers do not say who calls. Update the server to see it here.",
  audit: "Audit log",
  auditHint: "The server writes it to a file, for its operators only; no call returns it. The setting audit_log names the file.",
} as const;

const amount = (value: number) => (value >= 100_000 ? short(value) : whole(Math.round(value * 100) / 100));

const NAMES: Readonly<Record<string, string>> = {
  requests_per_second_of_caller: "Your requests per second",
  bytes_per_second_of_caller: "Your bytes per second",
  search_seconds_per_second_of_caller: "Your search time, in seconds per second",
  requests_per_second_of_tenant: "Requests of the tenant per second",
  bytes_per_second_of_tenant: "Bytes of the tenant per second",
  search_seconds_per_second_of_tenant: "Search time of the tenant, in seconds per second",
  streams_per_caller: "Your open streams",
  sessions_per_tenant: "Sessions of the tenant",
  events_per_tenant: "Events of the tenant",
};
