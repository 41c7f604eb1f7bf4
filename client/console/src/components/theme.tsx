// The choice of light, dark, or as the system has it.

import { useState } from "react";

import { storedTheme, storeTheme, THEMES, type Theme } from "../theme";
import { text } from "../text";
import { Icon } from "./icons";

const ICONS = { system: "display", light: "sun", dark: "moon" } as const;

export function ThemeSwitch() {
  const [theme, setTheme] = useState(storedTheme);
  const choose = (next: Theme) => {
    storeTheme(next);
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
