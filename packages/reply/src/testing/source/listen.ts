import type { Ask } from '../../ask.ts'
import type { ReplyEvent } from '../../event.ts'
import type { Reply } from '../../reply.ts'
import type { SessionRef } from '../../session-ref.ts'
import { emptyTrack, type TrackState } from '../../track/state.ts'
import { repliesOf, track } from '../../track/track.ts'
import type { SourceStage } from './stage.ts'

/** What one connection has sent so far. */
export interface Heard {
  readonly events: readonly ReplyEvent[]
  /** The newest reply of a root session. */
  reply(sessionID: string): Reply | undefined
}

export interface Listener {
  /** Resolves once `find` returns something; rejects if the connection ends before that. */
  until<T>(find: (heard: Heard) => T | undefined): Promise<T>
  /** Ends the connection, and resolves when it has ended. */
  stop(): Promise<void>
}

/** Opens a connection; resolves when it is open and its events arrive. */
export async function listen({ source, directory }: SourceStage): Promise<Listener> {
  const abort = new AbortController()
  const events: ReplyEvent[] = []
  const looks = new Set<() => void>()
  let state: TrackState = emptyTrack()
  let failure: { readonly reason: unknown } | undefined
  const heard: Heard = {
    events,
    reply: (sessionID) => repliesOf(state).find((reply) => reply.sessionID === sessionID),
  }
  const reading = read().then(
    () => fail(new Error('The connection ended.')),
    (reason: unknown) => fail(reason),
  )
  await until(() => (events.some((event) => event.type === 'connected') ? true : undefined))
  return { until, stop }

  async function read(): Promise<void> {
    for await (const list of source.connect({ signal: abort.signal, directory })) {
      for (const event of list) {
        events.push(event)
        state = track(state, event).state
      }
      for (const look of [...looks]) look()
    }
  }

  function fail(reason: unknown): void {
    failure = { reason }
    for (const look of [...looks]) look()
  }

  function until<T>(find: (heard: Heard) => T | undefined): Promise<T> {
    return new Promise((resolve, reject) => {
      const look = (): void => {
        let found: T | undefined
        try {
          found = find(heard)
        } catch (error) {
          looks.delete(look)
          return reject(error)
        }
        if (found === undefined && !failure) return
        looks.delete(look)
        if (found !== undefined) resolve(found)
        else reject(failure?.reason)
      }
      looks.add(look)
      look()
    })
  }

  async function stop(): Promise<void> {
    abort.abort()
    await reading
  }
}

/** The settled reply of a session. */
export async function settled(listener: Listener, { sessionID }: SessionRef): Promise<Reply> {
  return await listener.until((heard) => {
    const reply = heard.reply(sessionID)
    return reply?.phase === 'settled' ? reply : undefined
  })
}

/** The first pending ask of a session or of its sub-agents. */
export async function asked(listener: Listener, { sessionID }: SessionRef): Promise<Ask> {
  return await listener.until((heard) => {
    const reply = heard.reply(sessionID)
    if (reply?.phase === 'settled') throw new Error(`The run ended as ${reply.outcome}, without an ask.`)
    return reply?.asks.find((ask) => ask.status === 'pending')
  })
}
