// The frame of every page: navigation, theme and sign-out.

import { Link, Outlet } from "@tanstack/react-router";

import { useExpiry } from "../api/caller";
import { useConnection } from "../api/connection";
import { pages } from "../pages";
import { text } from "../text";
import { Icon } from "./icons";
import { ThemeSwitch } from "./theme";

export function Shell() {
  const { isSignedIn, signOut } = useConnection();
  useExpiry();
  return (
    <div className="shell">
      <a className="skip" href="#main">
        {text.shell.skip}
      </a>
      <header className="side">
        <Link to="/sessions" className="brand" aria-label={text.shell.home}>
          <svg viewBox="0 0 32 32" aria-hidden="true">
            <rect width="32" height="32" rx="8" />
            <path d="M9 10h14M9 16h9M9 22h12" />
          </svg>
          <span>{text.shell.name}</span>
        </Link>
        <nav aria-label={text.shell.navigation}>
          {pages.map(({ to, label, icon }) => (
            <Link key={to} to={to} activeOptions={{ includeSearch: false }}>
              <Icon name={icon} />
              <span>{label}</span>
            </Link>
          ))}
        </nav>
        <div className="side-end">
          <ThemeSwitch />
          {isSignedIn && (
            <button type="button" className="plain" onClick={signOut} title={text.shell.signOut}>
              <Icon name="exit" />
              <span className="hidden">{text.shell.signOut}</span>
            </button>
          )}
        </div>
      </header>
      <main id="main" tabIndex={-1}>
        <Outlet />
      </main>
    </div>
  );
}
