interface Placed {
  readonly type: string
  readonly sessionID?: unknown
  directory?: string | undefined
}

/**
 * Sets the directory of a session's event that has none. Does nothing for an event without a session. Mutates the
 * event, because copying it takes longer and nothing else has it yet.
 */
export function setDirectory(event: Placed, directory: string): void {
  if (event.sessionID !== undefined) event.directory ??= directory
}
