import { RouterProvider } from "@tanstack/react-router";

import { ConnectionProvider, useConnection } from "./api/connection";
import { isReturning } from "./api/oidc";
import { Returning } from "./pages/sign-in/returning";
import { SignInPage } from "./pages/sign-in/sign-in-page";
import { router } from "./routes";

export function App() {
  return (
    <ConnectionProvider>
      <Gate />
    </ConnectionProvider>
  );
}

/** Shows the sign-in while the server refuses the credential, and the page of the address afterwards. */
function Gate() {
  const { refusal } = useConnection();
  if (isReturning()) return <Returning />;
  return refusal ? <SignInPage refusal={refusal} /> : <RouterProvider router={router} />;
}
