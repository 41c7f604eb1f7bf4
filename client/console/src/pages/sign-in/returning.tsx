import { useEffect, useState } from "react";

import { asError } from "../../api/errors";
import { finishSignIn } from "../../api/oidc";
import { storeToken } from "../../api/session-token";
import { Loading } from "../../components/states";
import { text } from "../../text";
import { SignInPage } from "./sign-in-page";

/** The way back from the issuer: to the page that was opened, or to the sign-in with the reason. */
export function Returning() {
  const [failure, setFailure] = useState<Error>();
  useEffect(() => {
    finishSignIn().then(
      ({ token, address }) => {
        storeToken(token);
        location.replace(address);
      },
      (error: unknown) => setFailure(asError(error)),
    );
  }, []);
  if (failure) return <SignInPage refusal={undefined} failure={failure} />;
  return <main className="sign-in"><Loading label={text.signIn.returning} /></main>;
}
