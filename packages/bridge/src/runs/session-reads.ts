/** Reads sessions of servers, a few at a time. One for all shards of a process, which read many when they are restored. */
export interface SessionReads {
  /** Makes a call once fewer than `mostAtOnce` of that server are in progress, the first one first. Resolves and rejects like it. */
  read<Result>(server: string, call: () => Promise<Result>): Promise<Result>
}

/** How many sessions of a server are read at the same time. More would only delay the prompts of people. */
const mostAtOnce = 8

/** Creates the reads of a process. */
export function createSessionReads(): SessionReads {
  /** By the names of the servers. One without reads is missing. */
  const servers = new Map<string, { inProgress: number; readonly waiting: (() => void)[] }>()
  return { read }

  /** Waits for a turn, and passes it on at the end. */
  async function read<Result>(server: string, call: () => Promise<Result>): Promise<Result> {
    const reads = servers.get(server) ?? { inProgress: 0, waiting: [] }
    servers.set(server, reads)
    if (reads.inProgress < mostAtOnce) reads.inProgress += 1
    else await new Promise<void>((resolve) => reads.waiting.push(resolve))
    try {
      return await call()
    } finally {
      const next = reads.waiting.shift()
      if (next) next()
      else reads.inProgress -= 1
      if (reads.inProgress === 0) servers.delete(server)
    }
  }
}
