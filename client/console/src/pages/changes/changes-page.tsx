import { getRouteApi } from "@tanstack/react-router";

import { Tabs, TextField, withValue } from "../../components/field";
import { text } from "../../text";
import { Consumers } from "./consumers";
import { Feed } from "./feed";

const route = getRouteApi("/changes");

/** What is being committed, and who works on it. */
export function ChangesPage() {
  const given = route.useSearch();
  const navigate = route.useNavigate();
  const { app, user = "", show = "feed", consumer } = given;
  const set = (name: "app" | "user") => (value: string) => void navigate({ search: withValue(given, name, value), replace: true });
  return (
    <div className="page">
      <title>{`${text.changes.title} · ${text.shell.name}`}</title>
      <header className="head">
        <h1>{text.changes.title}</h1>
        <Tabs legend={text.changes.views} names={text.changes.shown} chosen={show === "consumers" ? "consumers" : "feed"} apply={(name) => void navigate({ search: name === "feed" ? {} : { show: name } })} />
      </header>
      {show === "consumers" ? (
        <Consumers chosen={consumer} />
      ) : (
        <>
          <form className="filters feed-filters" role="search" aria-label={text.changes.title} onSubmit={(event) => event.preventDefault()}>
            <TextField label={text.sessions.app} value={app ?? ""} hint={text.search.any} apply={set("app")} />
            <TextField label={text.sessions.user} value={user} hint={text.search.any} apply={set("user")} />
          </form>
          <Feed app={app} user={user} />
        </>
      )}
    </div>
  );
}
