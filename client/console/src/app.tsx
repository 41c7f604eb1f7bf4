import { RouterProvider } from "@tanstack/react-router";
import { StrictMode, useMemo } from "react";
import { createRoot } from "react-dom/client";

import { ConnectionProvider, openConnection, useConnection } from "./api/connection";
import { isReturning } from "./api/oidc";
import { storedToken } from "./api/session-token";
import { Returning } from "./pages/sign-in/returning";
import { SignInPage } from "./pages/sign-in/sign-in-page";
import { router } from "./routes";

export function start(root: HTMLElement): void {
  const first = openConnection(storedToken());
  if (!isReturning()) {
    router.update({ ...router.options, context: first });
    void router.load(); // what the page reads does not wait for its first rendering
  }
  createRoot(root).render(
    <StrictMode>
      <ConnectionProvider first={first}>
        <Gate />
      </ConnectionProvider>
    </StrictMode>,
  );
}

/** Shows the sign-in while the server refuses the credential, and the page of the address afterwards. */
function Gate() {
  const { refusal, client, queries } = useConnection();
  const context = useMemo(() => ({ client, queries }), [client, queries]);
  if (isReturning()) return <Returning />;
  return refusal ? <SignInPage refusal={refusal} /> : <RouterProvider router={router} context={context} />;
}
