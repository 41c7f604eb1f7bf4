// The id of the stream that answers in a chat: a value of the session's state, changed by compare and swap.

import { isReason, type SessionHandle } from "@threadkeep/client";

import { created } from "../common/created.js";

const KEY = "ai-sdk.activeStreamId";

/** Returns the id of the active stream; null if there is none. */
export async function activeStream(session: SessionHandle): Promise<string | null> {
  try {
    const { values } = await session.state().get({ keys: [KEY] });
    return (values[KEY] as string | undefined) ?? null;
  } catch (error) {
    if (isReason(error, "SESSION_NOT_FOUND")) return null;
    throw error;
  }
}

/** Makes a stream the active one, whichever is. Creates the session if there is none. */
export async function activate(session: SessionHandle, streamId: string): Promise<void> {
  const patch = () => session.state().patch({ [KEY]: streamId });
  try {
    await patch();
  } catch (error) {
    if (!isReason(error, "SESSION_NOT_FOUND")) throw error;
    await created(session);
    await patch();
  }
}

/** Ends the activity of a stream if it is still the active one. Returns whether it was. */
export async function deactivate(session: SessionHandle, streamId: string): Promise<boolean> {
  for (;;) {
    try {
      const { values, version } = await session.state().get({ keys: [KEY] });
      if (values[KEY] !== streamId) return false;
      await session.state().patch({}, { remove: [KEY], expect: { version } });
      return true;
    } catch (error) {
      if (isReason(error, "SESSION_NOT_FOUND")) return false;
      if (!isReason(error, "VERSION_MISMATCH")) throw error; // Otherwise: another change came between, perhaps of another key.
    }
  }
}
