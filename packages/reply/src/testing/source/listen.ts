import type { Ask } from '../../ask.ts'
import type { ReplyEvent } from '../../event.ts'
import type { Reply } from '../../reply.ts'
import type { SessionRef } from '../../session-ref.ts'
import { emptyTrack, type TrackState } from '../../track/state.ts'
import { repliesOf, track } from '../../track/track.ts'
import type { SourceStage } from './stage.ts'

/** The events of one connection so far. */
export interface Received {
  readonly events: readonly ReplyEvent[]
  /** The newest reply of a root session. */
  reply(sessionID: string): Reply | undefined
}

/** Waits for events of one connection. */
export interface Listener {
  /**
   * Resolves once `find` returns something, at once if it already does. Rejects if the connection ends first, or `find`
   * throws.
   */
  until<T>(find: (received: Received) => T | undefined): Promise<T>
  /** Ends the connection, and resolves when it has ended. */
  stop(): Promise<void>
}

/** Opens a connection. Resolves when it is open and its events arrive. Rejects if it ends before. */
export async function listen({ source, directory }: SourceStage): Promise<Listener> {
  const abort = new AbortController()
  const events: ReplyEvent[] = []
  const checks = new Set<() => void>()
  let state: TrackState = emptyTrack()
  let failure: { readonly reason: unknown } | undefined
  const received: Received = {
    events,
    reply: (sessionID) => repliesOf(state).find((reply) => reply.sessionID === sessionID),
  }
  const reading = readEvents().then(
    () => failWaiting(new Error('The connection ended.')),
    (reason: unknown) => failWaiting(reason),
  )
  await until(() => (events.some((event) => event.type === 'connected') ? true : undefined))
  return { until, stop }

  /** Tracks all events until the connection ends, and checks after each list what the waiting calls find. */
  async function readEvents(): Promise<void> {
    for await (const list of source.connect({ signal: abort.signal, directory })) {
      for (const event of list) {
        events.push(event)
        state = track(state, event).state
      }
      for (const check of [...checks]) check()
    }
  }

  /** Rejects everything that still waits, and every later wait that finds nothing. */
  function failWaiting(reason: unknown): void {
    failure = { reason }
    for (const check of [...checks]) check()
  }

  function until<T>(find: (received: Received) => T | undefined): Promise<T> {
    return new Promise((resolve, reject) => {
      const check = (): void => {
        let found: T | undefined
        try {
          found = find(received)
        } catch (error) {
          checks.delete(check)
          return reject(error)
        }
        if (found === undefined && !failure) return
        checks.delete(check)
        if (found !== undefined) resolve(found)
        else reject(failure?.reason)
      }
      checks.add(check)
      check()
    })
  }

  async function stop(): Promise<void> {
    abort.abort()
    await reading
  }
}

/** Resolves with the session's newest reply once it has settled. Rejects if the connection ends first. */
export async function waitForSettled(listener: Listener, { sessionID }: SessionRef): Promise<Reply> {
  return await listener.until((received) => {
    const reply = received.reply(sessionID)
    return reply?.phase === 'settled' ? reply : undefined
  })
}

/**
 * Resolves with a pending ask of a session or of its sub-agents. Rejects if the run or the connection ends without one.
 */
export async function waitForAsk(listener: Listener, { sessionID }: SessionRef): Promise<Ask> {
  return await listener.until((received) => {
    const reply = received.reply(sessionID)
    if (reply?.phase === 'settled') throw new Error(`The run ended as ${reply.outcome}, without an ask.`)
    return reply?.asks.find((ask) => ask.status === 'pending')
  })
}
