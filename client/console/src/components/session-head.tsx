// The head of every page about one session: whose it is, its name, and its views.

import { Link } from "@tanstack/react-router";
import type { SessionRef } from "@threadkeep/client/v1";
import type { ReactNode } from "react";

import { text } from "../text";

const VIEWS = [
  { to: "/session", label: text.views.events },
  { to: "/context", label: text.views.context },
  { to: "/details", label: text.views.details },
] as const;

export function SessionHead({ session: { app, userId, sessionId }, children }: { session: SessionRef; children?: ReactNode }) {
  const search = { app, user: userId, id: sessionId };
  return (
    <header className="head">
      <div className="titles">
        <p className="quiet crumbs">
          <Link to="/sessions" search={{ app }}>{app || text.views.noApp}</Link> / <Link to="/sessions" search={{ app, user: userId }}>{userId}</Link>
        </p>
        <h1 className="id">{sessionId}</h1>
      </div>
      <div className="facts">{children}</div>
      <nav className="tabs views" aria-label={text.views.legend}>
        {VIEWS.map(({ to, label }) => (
          <Link key={to} to={to} search={search} activeOptions={{ includeSearch: false }}>
            {label}
          </Link>
        ))}
      </nav>
    </header>
  );
}
