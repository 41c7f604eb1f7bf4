// The client of the server that served the page, and who is signed in.

import { TransportProvider } from "@connectrpc/connect-query";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { connect, isReason, type Client } from "@threadkeep/client";
import { createContext, use, useCallback, useEffect, useMemo, useState, type ReactNode } from "react";

import { SERVER } from "../place";
import { storedToken, storeToken } from "./session-token";

interface Connection {
  client: Client;
  /** Whether a token was given. A server without credentials needs none. */
  isSignedIn: boolean;
  /** Set while the server wants another credential. */
  refusal: Error | undefined;
  /** Reports an error of a call; a refused credential shows the sign-in. */
  report: (error: unknown) => void;
  signIn: (token: string) => void;
  signOut: () => void;
}

const ConnectionContext = createContext<Connection | undefined>(undefined);

/** Reasons that the same call has again, however often it is sent. */
const isFinal = (error: unknown) => !(error instanceof Error && "isTransient" in error && error.isTransient);

function createQueries(report: (error: unknown) => void): QueryClient {
  const queries = new QueryClient({
    // The client retries what is safe to repeat, so a query that failed has failed several times already.
    defaultOptions: { queries: { retry: (count, error) => count < 2 && !isFinal(error), staleTime: 15_000 } },
  });
  queries.getQueryCache().subscribe(({ type, query }) => {
    if (type === "updated") report(query.state.error);
  });
  return queries;
}

/** Provides the client and its queries. Another token is another client, and nothing that the former one read is kept. */
export function ConnectionProvider({ children }: { children: ReactNode }) {
  const [token, setToken] = useState(storedToken);
  const [refusal, setRefusal] = useState<Error>();
  const client = useMemo(() => connect({ address: SERVER, token, allowPlaintextToken: true }), [token]);
  const report = useCallback((error: unknown) => isReason(error, "UNAUTHENTICATED") && setRefusal(error), []);
  const queries = useMemo(() => createQueries(report), [client]);
  useEffect(() => () => client.close(), [client]);
  const signIn = useCallback((next: string) => {
    storeToken(next);
    setRefusal(undefined);
    setToken(next);
  }, []);
  const signOut = useCallback(() => signIn(""), [signIn]);
  const value = useMemo(
    () => ({ client, isSignedIn: token !== "", refusal, report, signIn, signOut }),
    [client, token, refusal, report, signIn, signOut],
  );
  return (
    <ConnectionContext value={value}>
      <TransportProvider transport={client.transport}>
        <QueryClientProvider client={queries}>{children}</QueryClientProvider>
      </TransportProvider>
    </ConnectionContext>
  );
}

export function useConnection(): Connection {
  const connection = use(ConnectionContext);
  if (!connection) throw new Error("useConnection needs a ConnectionProvider");
  return connection;
}

export const useClient = (): Client => useConnection().client;
