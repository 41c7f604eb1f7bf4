import { StrictMode } from "react";
import { createRoot } from "react-dom/client";

import { App } from "./app";
import { applyTheme, storedTheme } from "./components/theme";
import "./styles/base.css";
import "./styles/layout.css";
import "./styles/controls.css";
import "./styles/sessions.css";
import "./styles/events.css";
import "./styles/context.css";

applyTheme(storedTheme());
createRoot(document.getElementById("root")!).render(
  <StrictMode>
    <App />
  </StrictMode>,
);
