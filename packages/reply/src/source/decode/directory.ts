interface Placed {
  readonly type: string
  readonly sessionID?: unknown
  directory?: string | undefined
}

/** Mutates the event, because copying it takes longer. Nothing else has it yet. The directory in it takes precedence. */
export function giveDirectory(event: Placed, directory: string): void {
  if (event.sessionID !== undefined) event.directory ??= directory
}
