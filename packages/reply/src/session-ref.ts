/**
 * Where a session lives. Every call to the server needs both fields: OpenCode keeps the runs and asks of each directory
 * apart, and looks in its own directory if a call names none.
 */
export interface SessionRef {
  /** The session's id: `ses_…`. */
  readonly sessionID: string
  /** In the server's spelling. Undefined if the server didn't name it. */
  readonly directory: string | undefined
}

/** Returns only the session's id and directory. */
export function sessionRefOf({
  sessionID,
  directory,
}: {
  sessionID: string
  directory?: string | undefined
}): SessionRef {
  return { sessionID, directory }
}
