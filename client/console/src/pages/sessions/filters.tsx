import { Choice, TextField, withValue } from "../../components/field";
import { text } from "../../text";
import type { SessionFilters } from "./use-sessions";

interface Props {
  filters: SessionFilters;
  apply: (filters: SessionFilters) => void;
}

export function Filters({ filters, apply }: Props) {
  const set = (name: keyof SessionFilters) => (value: string) => apply(withValue(filters, name, value));
  const { app = "", user = "", prefix = "", label = "", since = "", order = "" } = filters;
  return (
    <form className="filters" role="search" aria-label={text.sessions.filters} onSubmit={(event) => event.preventDefault()}>
      <TextField label={text.sessions.app} value={app} apply={set("app")} />
      <TextField label={text.sessions.user} value={user} apply={set("user")} />
      <TextField label={text.sessions.prefix} value={prefix} apply={set("prefix")} />
      <TextField label={text.sessions.label} value={label} hint={text.sessions.labelHint} apply={set("label")} />
      <Choice label={text.sessions.since} value={since} options={text.sessions.sinces} apply={set("since")} />
      <Choice label={text.sessions.order} value={order} options={text.sessions.orders} apply={set("order")} />
      {Object.keys(filters).length > 0 && (
        <button type="button" className="plain" onClick={() => apply({})}>
          {text.sessions.clear}
        </button>
      )}
    </form>
  );
}
