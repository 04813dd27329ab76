import { type Clock, systemClock } from '@reply/core'
import { createSseReader, pause } from '@reply/core/internal'
import { applyDifference } from '../../src/state/difference.ts'
import type { PageAccess } from '../../src/state/page-access.ts'
import { texts } from '../texts.ts'
import { believedState, readError, readStreamEvent } from './decode.ts'

/**
 * The state of a connection:
 * - `connecting`: nothing has come yet.
 * - `live`: what is shown is what is there.
 * - `lost`: it connects again, and what is shown may be old.
 * - `ended`: no other state will come.
 * - `refused`: the link is not valid, or no longer.
 */
export type ConnectionState = 'connecting' | 'live' | 'lost' | 'ended' | 'refused'

/** What a connection to the states of a run, or of a list, needs. `State` is believed, because the server sends it. */
export interface ConnectionOptions<State> {
  /** The address of what is streamed: `…/api/runs/<id>`. */
  readonly url: string
  readonly token: string
  /** Called with each newer state. What did not change is shared with the state before. */
  readonly onState: (state: State) => void
  readonly onAccess: (access: PageAccess) => void
  /** Called when the connection's state changes. The message is for people, and says why a link was refused. */
  readonly onConnection: (state: ConnectionState, message?: string) => void
  /** Default: the browser's. */
  readonly fetch?: typeof fetch | undefined
  /** Default: the browser's clock. */
  readonly clock?: Clock | undefined
}

/** A connection that comes back by itself until it is closed, refused, or has ended. */
export interface Connection {
  /** Sends something for people to do there. Rejects with an `Error` whose message is for people. */
  post(action: string, body: object): Promise<void>
  /** Reads something that belongs to the run. Rejects likewise. */
  read(path: string): Promise<Response>
  close(): void
}

/** The server sends a comment every 5 s. A connection that is silent for longer is broken, for example after sleep. */
const silentMs = 20_000

const shortestWaitMs = 250
const longestWaitMs = 10_000

/** Connects to the events of a run or a list. */
export function openConnection<State>(options: ConnectionOptions<State>): Connection {
  const { url, token, onState, onAccess, onConnection, clock = systemClock } = options
  const load = options.fetch ?? ((input, init) => fetch(input, init))
  let isClosed = false
  /** Ends the request or the wait that goes on. */
  let current = new AbortController()
  let told: ConnectionState | undefined
  let waitMs = shortestWaitMs
  tell('connecting')
  void run()
  return { post, read, close }

  function close(): void {
    isClosed = true
    current.abort()
  }

  async function run(): Promise<void> {
    while (!isClosed) {
      current = new AbortController()
      const end = await readOnce(current).catch(() => 'lost' as const)
      if (isClosed) return
      if (end !== 'lost') return tell(...end)
      if (told === 'live') tell('lost')
      current = new AbortController()
      // Pages that lost the same server don't come back at the same moment.
      await pause(clock, waitMs * (0.5 + Math.random() / 2), current.signal)
      waitMs = Math.min(waitMs * 2, longestWaitMs)
    }
  }

  /** Reads one response to its end. Resolves with the last state, or `lost` if it should be tried again. Rejects likewise. */
  async function readOnce(attempt: AbortController): Promise<'lost' | [ConnectionState, string?]> {
    const { signal } = attempt
    let stopTimer = clock.after(silentMs, () => attempt.abort())
    try {
      const response = await load(`${url}/events`, { headers: headersOf(token), signal })
      if (response.status !== 200 || !response.body) {
        const error = await errorOf(response)
        const isFinal = [401, 403, 404, 410].includes(response.status) && error !== undefined
        return isFinal ? ['refused', error] : 'lost'
      }
      const reader = response.body.getReader()
      signal.addEventListener('abort', () => void reader.cancel().catch(() => {}))
      const states = createStates()
      for (let read = await reader.read(); !read.done; read = await reader.read()) {
        stopTimer()
        stopTimer = clock.after(silentMs, () => attempt.abort())
        states.push(read.value)
        if (states.end() !== undefined) return states.end() === 'ended' ? ['ended'] : 'lost'
      }
      return 'lost'
    } finally {
      stopTimer()
      attempt.abort()
    }
  }

  /** Reads the events of one response. `end` is undefined as long as more are to be read. */
  function createStates() {
    let seq = 0
    let state: unknown
    let end: 'ended' | 'lost' | undefined
    const reader = createSseReader({ onData, maxFrame: Number.POSITIVE_INFINITY })
    return { push: (bytes: Uint8Array) => reader.push(bytes), end: () => end }

    function onData(data: string, name: string | undefined): void {
      if (end !== undefined || isClosed) return
      const event = readStreamEvent(name, data)
      if (event?.type === 'access') return onAccess(event.access)
      if (event?.type === 'end') {
        end = 'ended'
        return
      }
      if (!event) return
      // A state is built on the one before. After a gap it would be another one than the server's.
      if (event.seq !== seq + 1) {
        end = 'lost'
        return
      }
      seq = event.seq
      state = event.type === 'run' ? event.run : applyDifference(state, event.changes)
      waitMs = shortestWaitMs
      onState(believedState<State>(state))
      tell('live')
    }
  }

  async function post(action: string, body: object): Promise<void> {
    const headers = { ...headersOf(token), 'content-type': 'application/json' }
    await send(action, { method: 'POST', headers, body: JSON.stringify(body) }, texts.notSent)
  }

  async function read(path: string): Promise<Response> {
    return await send(path, { headers: headersOf(token) }, texts.unreachable)
  }

  /** Resolves with a response that is no refusal. */
  async function send(path: string, init: RequestInit, unreachable: string): Promise<Response> {
    const response = await load(`${url}/${path}`, init).catch(() => undefined)
    if (!response) throw new Error(unreachable)
    if (response.status === 200) return response
    throw new Error((await errorOf(response)) ?? texts.failed)
  }

  function tell(state: ConnectionState, message?: string): void {
    if (state === told || isClosed) return
    told = state
    onConnection(state, message)
  }
}

function headersOf(token: string): Record<string, string> {
  return { authorization: `Bearer ${token}` }
}

/** The sentence of a refusal. Undefined if this server did not write the response, for example a proxy did. */
async function errorOf(response: Response): Promise<string | undefined> {
  return readError(await response.text().catch(() => ''))
}
