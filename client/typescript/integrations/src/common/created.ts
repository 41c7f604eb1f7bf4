import { isReason, ThreadkeepError, type CreateOptions, type SessionHandle } from "@threadkeep/client";

const ATTEMPTS = 3;

/**
 * Creates a session unless it exists. Returns whether it did; false if an attempt did whose answer was lost. The client does not
 * repeat a creation; one that returns an existing session is safe to repeat.
 */
export async function created(session: SessionHandle, options: CreateOptions = {}): Promise<boolean> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return (await session.create({ ...options, returnExisting: true })).created;
    } catch (error) {
      if (!(error instanceof ThreadkeepError) || !error.isTransient || attempt === ATTEMPTS) throw error;
      await exists(session); // It is repeated until the server is back, as the client's options say.
    }
  }
}

async function exists(session: SessionHandle): Promise<boolean> {
  try {
    await session.get();
    return true;
  } catch (error) {
    if (isReason(error, "SESSION_NOT_FOUND")) return false;
    throw error;
  }
}
