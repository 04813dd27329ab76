import { connect, createServer, type Socket } from 'node:net'
import { realClock, type TestClock } from '../clock.ts'
import { onFreePort } from '../port.ts'
import { createConversation } from './conversation.ts'

/** The server behind the proxy. */
export interface PostgresProxyOptions {
  /** The server's URL, or that of a database on it. */
  readonly target: string
  /** For delays. Default: the system's. */
  readonly clock?: Pick<TestClock, 'after'>
}

/**
 * Whether a query is meant. Gets all that the client sends to have it run: its text, or the name of the statement if it
 * was prepared before, and its values.
 */
export type QueryMatcher = (bytes: Buffer) => boolean

/** A network between clients and a PostgreSQL server that fails when you say so. */
export interface PostgresProxy {
  /** The URL of `target`, through the proxy. */
  readonly url: string
  /**
   * Interrupts the network: what one end of an open connection sends, or that it ends, no longer reaches the other end,
   * which doesn't notice. New connections are refused, or accepted and `silent`.
   */
  cutOff(newOnes: 'refuse' | 'silent'): Promise<void>
  /** Ends the interruption. As with TCP, everything that was sent in the meantime still arrives, in order. */
  restore(): Promise<void>
  /** Breaks all open connections at both ends, even during an interruption. What was held back is lost. */
  breakConnections(): void
  /** Delays everything that arrives at the proxy from now on. A direction that isn't given has no delay. */
  delay(by: { readonly toServerMs?: number; readonly toClientMs?: number }): void
  /** Breaks the connection of the next query that `matches`, before the server gets any of it. Resolves after that. */
  loseNextQuery(matches: QueryMatcher): Promise<void>
  /**
   * Lets the server run the next query that `matches`, waits until it is done, and breaks the connection before the
   * client gets any of the answer. Resolves after that.
   */
  loseNextAnswer(matches: QueryMatcher): Promise<void>
  /** Breaks all connections and stops listening. */
  close(): Promise<void>
}

/** A query or an answer to lose. */
interface Loss {
  readonly matches: QueryMatcher
  /** Tells the test that it happened. */
  readonly happened: () => void
}

/** Returns the first loss that a query matches, and forgets it. Undefined if there is none. */
const takeLoss = (losses: Set<Loss>, query: Buffer): Loss | undefined => {
  const found = [...losses].find(({ matches }) => matches(query))
  if (found) losses.delete(found)
  return found
}

/**
 * Starts a proxy on loopback in front of a PostgreSQL server. Changes nothing except for its faults, but refuses
 * encryption, because it reads the messages. Rejects if it can't get a port.
 */
export async function startPostgresProxy(options: PostgresProxyOptions): Promise<PostgresProxy> {
  const { clock = realClock } = options
  const target = new URL(options.target)
  /** Break the open connections. */
  const breaks = new Set<() => void>()
  const lostQueries = new Set<Loss>()
  const lostAnswers = new Set<Loss>()
  let delays = { toServerMs: 0, toClientMs: 0 }
  /** Resolves at the end of the interruption. Undefined without one. */
  let restored: Promise<void> | undefined
  let endInterruption = (): void => {}
  // Half open: otherwise the proxy itself would answer the end of one side.
  const listener = createServer({ allowHalfOpen: true, noDelay: true }, accept)
  const { port } = await onFreePort(listen)
  const url = new URL(target)
  url.hostname = '127.0.0.1'
  url.port = String(port)
  return {
    url: url.href,
    cutOff: async (newOnes) => {
      restored ??= new Promise((resolve) => {
        endInterruption = resolve
      })
      if (newOnes === 'silent') await listen(port)
      else listener.close()
    },
    restore: async () => {
      restored = undefined
      endInterruption()
      await listen(port)
    },
    breakConnections,
    delay: ({ toServerMs = 0, toClientMs = 0 }) => {
      delays = { toServerMs, toClientMs }
    },
    loseNextQuery: (matches) => new Promise((happened) => lostQueries.add({ matches, happened })),
    loseNextAnswer: (matches) => new Promise((happened) => lostAnswers.add({ matches, happened })),
    close: () =>
      new Promise((resolve) => {
        listener.close(() => resolve())
        breakConnections()
      }),
  }

  /** Listens on a port, unless it listens already. Rejects if another program has taken the port. */
  function listen(onPort: number): Promise<void> {
    return new Promise((resolve, reject) => {
      if (listener.listening) return resolve()
      listener.once('error', reject)
      listener.listen(onPort, '127.0.0.1', () => {
        listener.off('error', reject)
        resolve()
      })
    })
  }

  /** Breaks all open connections. */
  function breakConnections(): void {
    for (const breakBoth of breaks) breakBoth()
  }

  /** Passes a connection on to the server, once the network is there. */
  async function accept(client: Socket): Promise<void> {
    const timers = new Set<() => void>()
    let server: Socket | undefined
    let isBroken = false
    /** Breaks the connection at both ends. Nothing is passed on anymore. */
    const breakBoth = (): void => {
      isBroken = true
      breaks.delete(breakBoth)
      for (const stop of timers) stop()
      client.resetAndDestroy()
      server?.resetAndDestroy()
    }
    breaks.add(breakBoth)
    // The event that follows says that the connection is closed.
    client.on('error', () => {})
    while (restored) await restored
    if (isBroken || client.destroyed) return breakBoth()

    server = connect({ host: target.hostname, port: Number(target.port || 5432), allowHalfOpen: true, noDelay: true })
    server.on('error', () => {})
    const { fromClient, fromServer } = createConversation({
      toServer: (bytes) => server?.write(bytes),
      toClient: (bytes) => client.write(bytes),
      breakAtQuery: (query) => {
        if (isBroken) return true
        const loss = takeLoss(lostQueries, query)
        if (loss) breakBoth()
        loss?.happened()
        return loss !== undefined
      },
      takeLostAnswer: (query) => {
        const loss = takeLoss(lostAnswers, query)
        if (loss === undefined) return undefined
        return () => {
          breakBoth()
          loss.happened()
        }
      },
    })
    pass(client, fromClient, server, () => delays.toServerMs)
    pass(server, fromServer, client, () => delays.toClientMs)

    /** Passes on what one end sends, and that it ends, each after the delay and outside of an interruption. */
    function pass(from: Socket, take: (chunk: Buffer) => void, to: Socket, delayMs: () => number): void {
      let last = Promise.resolve()
      /** Runs something behind everything that is on its way. */
      const later = (run: () => void): void => {
        const before = last
        const delayed = waitFor(delayMs())
        last = (async () => {
          await before
          await delayed
          while (restored) await restored
          if (!isBroken) run()
        })()
      }
      from.on('data', (chunk) => later(() => take(chunk)))
      from.on('end', () => later(() => to.end()))
      from.on('close', (hadError) =>
        later(() => {
          // An end that both sides know of is over without a break.
          if (hadError || !from.readableEnded) breakBoth()
          else if (to.closed) breaks.delete(breakBoth)
        }),
      )
    }

    /** Resolves after a delay. Never, if the connection breaks before. */
    function waitFor(delayMs: number): Promise<void> {
      return new Promise((resolve) => {
        if (delayMs === 0) return resolve()
        const stop = clock.after(delayMs, () => {
          timers.delete(stop)
          resolve()
        })
        timers.add(stop)
      })
    }
  }
}
