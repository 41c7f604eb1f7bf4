import { useState } from "react";

import { asError } from "../../api/errors";
import { beginSignIn, SignInFailure, type Oidc } from "../../api/oidc";
import { text } from "../../text";

/** Leads to the issuer, and says why if that fails. */
export function OidcButton({ oidc, failure }: { oidc: Oidc; failure: Error | undefined }) {
  const [error, setError] = useState(failure);
  const [isBusy, setBusy] = useState(false);
  const begin = () => {
    setBusy(true);
    setError(undefined);
    beginSignIn(oidc).catch((reason: unknown) => {
      setBusy(false);
      setError(asError(reason));
    });
  };
  return (
    <>
      {error && <p role="alert" className="warning">{error instanceof SignInFailure ? text.signIn.failures[error.kind](error.detail) : error.message}</p>}
      <button type="button" className="primary" disabled={isBusy} onClick={begin}>{text.signIn.at(new URL(oidc.issuer).host)}</button>
    </>
  );
}
