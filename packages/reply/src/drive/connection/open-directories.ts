import type { Engine } from '../engine.ts'

/** The directories to ask after a gap: the connection's own, and those with an open reply. Drops the others. */
export interface OpenDirectories {
  list(): readonly (string | undefined)[]
}

export interface OpenDirectoriesOptions {
  readonly engine: Engine
  /** The connection's own directory, in the server's spelling once that is known. */
  readonly home: () => string | undefined
  readonly isLive: () => boolean
}

export function createOpenDirectories({ engine, home, isLive }: OpenDirectoriesOptions): OpenDirectories {
  const busy = new Set<string | undefined>()
  engine.onTurned((sessionID) => {
    const directory = engine.newestReply(sessionID)?.directory
    if (engine.openReply(sessionID)) busy.add(directory)
    // While the stream is down, replies end by timeout; on the server they may continue.
    else if (isLive() && !engine.openReplies().some((reply) => reply.directory === directory)) busy.delete(directory)
  })
  return { list: () => [...new Set([home(), ...[...busy].map((directory) => directory ?? home())])] }
}
