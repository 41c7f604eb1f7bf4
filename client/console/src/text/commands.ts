// Commands that empty states name.

/** The command that makes the first event of a session. */
export function firstEvent(app = "shop", user = "alice", session = "trip"): string {
  const quoted = [app, user, session].map((word) => `'${word.replaceAll("'", "'\\''")}'`);
  return `threadkeep events append --create --app ${quoted[0]} --user ${quoted[1]} ${quoted[2]} 'Is BA117 on time?'`;
}
