import { Link } from "@tanstack/react-router";

import { text } from "../text";
import { Empty } from "./states";

/** Shown by a page about one session whose address names none. */
export function ChooseSession() {
  return (
    <div className="page">
      <Empty title={text.session.choose}>
        <p>{text.session.chooseHint}</p>
        <Link to="/sessions">{text.session.all}</Link>
      </Empty>
    </div>
  );
}
