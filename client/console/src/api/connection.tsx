// The client of the server that served the page, and who is signed in.

import { TransportProvider } from "@connectrpc/connect-query";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { connect, isReason, type Client } from "@threadkeep/client";
import { createContext, use, useCallback, useEffect, useMemo, useState, type ReactNode } from "react";

import { SERVER } from "../place";
import { storeToken } from "./session-token";

/** What a token opens: the client, and what was read with it. Another token is another client, and nothing that the former one read is kept. */
export interface Opened {
  /** Distinguishes it from the former ones: hooks keep the client that they began with, so they begin again. */
  id: number;
  token: string;
  client: Client;
  queries: QueryClient;
}

interface Connection extends Opened {
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

let count = 0;

/** Opens the client of a token. Nothing is sent before the first call. */
export function openConnection(token: string): Opened {
  const queries = new QueryClient({
    // The client retries what is safe to repeat, so a query that failed has failed several times already.
    defaultOptions: { queries: { retry: (count, error) => count < 2 && !isFinal(error), staleTime: 15_000 } },
  });
  return { id: (count += 1), token, client: connect({ address: SERVER, token, allowPlaintextToken: true }), queries };
}

/** Provides the client and its queries: at first those that are opened already, then those of the token that was given. */
export function ConnectionProvider({ first, children }: { first: Opened; children: ReactNode }) {
  const [opened, setOpened] = useState(first);
  const [refusal, setRefusal] = useState<Error>();
  const { token, client, queries } = opened;
  const report = useCallback((error: unknown) => isReason(error, "UNAUTHENTICATED") && setRefusal(error), []);
  useEffect(() => {
    const cache = queries.getQueryCache();
    cache.getAll().forEach(({ state }) => report(state.error)); // of reads that began before
    return cache.subscribe(({ type, query }) => {
      if (type === "updated") report(query.state.error);
    });
  }, [queries, report]);
  const signIn = useCallback((next: string) => {
    storeToken(next);
    client.close();
    setRefusal(undefined);
    setOpened(openConnection(next));
  }, [client]);
  const signOut = useCallback(() => signIn(""), [signIn]);
  const value = useMemo(
    () => ({ ...opened, isSignedIn: token !== "", refusal, report, signIn, signOut }),
    [opened, token, refusal, report, signIn, signOut],
  );
  return (
    <ConnectionContext value={value}>
      <TransportProvider key={opened.id} transport={client.transport}>
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
