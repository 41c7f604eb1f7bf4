// The pages of the navigation, in its order. Each has a route in routes.tsx and a folder of its own.

import type { IconName } from "../components/icons";
import { text } from "../text";

export const pages = [
  { to: "/overview", label: text.shell.overview, icon: "overview" },
  { to: "/sessions", label: text.shell.sessions, icon: "sessions" },
  { to: "/search", label: text.shell.search, icon: "search" },
  { to: "/memories", label: text.shell.memories, icon: "memory" },
  { to: "/changes", label: text.shell.changes, icon: "changes" },
  { to: "/policies", label: text.shell.policies, icon: "policy" },
  { to: "/access", label: text.shell.access, icon: "access" },
] as const satisfies readonly { to: string; label: string; icon: IconName }[];
