// All styles, in their order: pages share rules, and the later of two rules counts. They are small, so there is one file.

import "../pages/access/access.css";
import "../pages/changes/changes.css";
import "../pages/details/details.css";
import "../pages/memories/memories.css";
import "../pages/overview/overview.css";
import "../pages/policies/policies.css";
import "../pages/search/search.css";
import "../pages/sessions/bulk.css";
import "./base.css";
import "./layout.css";
import "./controls.css";
import "./sessions.css";
import "./events.css";
import "./context.css";
