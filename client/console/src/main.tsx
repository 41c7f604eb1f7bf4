import { isPage, scripts } from "./pages/scripts";
import { BASE } from "./place";
import "./styles";
import { applyTheme, storedTheme } from "./theme";

applyTheme(storedTheme());
// The page of the address is loaded at the same time as the libraries, and not after they have read the address.
const segment = location.pathname.slice(BASE.length) || "sessions";
if (isPage(segment)) void scripts[segment]().catch(() => {}); // the router loads it again, and shows why it fails
void import("./app").then(({ start }) => start(document.getElementById("root")!));
