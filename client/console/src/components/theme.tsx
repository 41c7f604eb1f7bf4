// Light, dark, or as the system has it.

import { useState } from "react";

import { text } from "../text";
import { Icon } from "./icons";

const THEMES = ["system", "light", "dark"] as const;
type Theme = (typeof THEMES)[number];

const KEY = "threadkeep.theme";

export function storedTheme(): Theme {
  const stored = localStorage.getItem(KEY);
  return THEMES.find((theme) => theme === stored) ?? "system";
}

/** Style sheets read the attribute; without it the system decides. */
export function applyTheme(theme: Theme): void {
  if (theme === "system") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = theme;
}

const ICONS = { system: "display", light: "sun", dark: "moon" } as const;

export function ThemeSwitch() {
  const [theme, setTheme] = useState(storedTheme);
  const choose = (next: Theme) => {
    localStorage.setItem(KEY, next);
    applyTheme(next);
    setTheme(next);
  };
  return (
    <fieldset className="segments">
      <legend className="hidden">{text.theme.legend}</legend>
      {THEMES.map((each) => (
        <label key={each} title={text.theme[each]}>
          <input type="radio" name="theme" className="hidden" checked={each === theme} onChange={() => choose(each)} />
          <Icon name={ICONS[each]} />
          <span className="hidden">{text.theme[each]}</span>
        </label>
      ))}
    </fieldset>
  );
}
