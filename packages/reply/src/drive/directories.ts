import type { Engine } from './engine.ts'

/** The directories to ask after a gap: the connection's own, and those with an open reply. The others are forgotten. */
export interface Directories {
  list(): readonly (string | undefined)[]
}

export interface DirectoriesOptions {
  readonly engine: Engine
  /** The connection's own directory, in the server's spelling as soon as that is known. */
  readonly home: () => string | undefined
  readonly isLive: () => boolean
}

export function createDirectories({ engine, home, isLive }: DirectoriesOptions): Directories {
  const busy = new Set<string | undefined>()
  engine.onTurned((sessionID) => {
    const directory = engine.newestReply(sessionID)?.directory
    if (engine.openReply(sessionID)) busy.add(directory)
    // Without a stream replies end by the clock; on the server they may go on.
    else if (isLive() && !engine.openReplies().some((reply) => reply.directory === directory)) busy.delete(directory)
  })
  return { list: () => [...new Set([home(), ...[...busy].map((directory) => directory ?? home())])] }
}
