/**
 * Where a session lives. Every call to the server needs both: OpenCode keeps each directory's runs and asks apart, and
 * looks them up in its own directory when a call names none.
 */
export interface Place {
  readonly sessionID: string
  /** As the server spells it; undefined where the server told none. */
  readonly directory: string | undefined
}

export function placeOf({ sessionID, directory }: { sessionID: string; directory?: string | undefined }): Place {
  return { sessionID, directory }
}
