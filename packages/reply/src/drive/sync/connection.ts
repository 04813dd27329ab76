import { toReadVersion } from '../../decode/rest.ts'
import { ReplyError } from '../../error.ts'
import type { ReplyEvent, SnapshotEvent } from '../../event.ts'
import { placeOf } from '../../place.ts'
import type { ConnectOptions, Settings } from '../options.ts'
import type { Engine } from '../store/engine.ts'
import type { Address } from '../transport/address.ts'
import { createEventStream, type EventStream, type EventStreamOptions } from '../transport/event-stream.ts'
import type { Rest } from '../transport/rest.ts'
import { silenceOf } from '../transport/version.ts'
import { createBaseline } from './baseline.ts'
import { createOrphans } from './orphans.ts'
import type { ReadRequest } from './read-snapshot.ts'
import { checkMs, createRecheck, maxTries } from './recheck.ts'
import { createResync } from './resync.ts'
import { createSharedLists } from './shared-lists.ts'
import type { Watching } from './watch.ts'

export interface Connection {
  readonly ready: Promise<void>
  /** Resolves when the stream is up and missed events were read; rejects if that takes too long. */
  whenLive(): Promise<void>
  isLive(): boolean
  /** The server's version when the stream last came up. */
  version(): string | undefined
  /** Reads what a directory contains before its sessions are watched. */
  listen(directory: string | undefined): Promise<void>
  close(): void
}

export interface ConnectionOptions {
  readonly address: Address
  readonly options: ConnectOptions
  readonly settings: Settings
  readonly engine: Engine
  readonly rest: Rest
  readonly read: (request: ReadRequest) => Promise<SnapshotEvent>
  readonly watching: Watching
}

/** The connection to the server: the event stream, the resync after each gap, and the connection state of the replies. */
export function createConnection({
  address,
  options,
  settings,
  engine,
  rest,
  read,
  watching,
}: ConnectionOptions): Connection {
  const { clock, onError, lostAfterMs } = settings
  let isUp = false
  let version: string | undefined
  let isClosed = false
  let silenceMs = options.silenceMs ?? 75_000
  let stopLost: (() => void) | undefined
  /** The newest time received before the stream was lost, by the server's clock. */
  let missedSince: number | undefined
  /** Since when a directory could not be read. */
  let blindSince: number | undefined
  let stopBlind = (): void => {}
  let stopReady: (() => void) | undefined
  let lastReason: ReplyError | undefined
  let waiting: { readonly resolve: () => void; readonly reject: (error: ReplyError) => void }[] = []
  let settleReady: { resolve: () => void; reject: (error: ReplyError) => void } | undefined
  const ready = new Promise<void>((resolve, reject) => {
    settleReady = { resolve, reject }
  })
  // Awaiting `ready` is optional: prompts report a missing connection themselves.
  ready.catch(() => {})

  const resync = createResync({
    onError,
    now: clock.now,
    apply: engine.apply,
    read,
    sessions,
    onFailed: (reason) => eventStream.reconnect(reason),
    onSynced,
  })
  const listen = createBaseline({ engine, rest, clock, onError })
  const recheck = createRecheck({ engine, read, clock, onError })
  const orphans = createOrphans({ engine, read, clock, onError, isLive: () => isUp })
  const eventStream: EventStream = createEventStream({
    ...settings,
    address,
    directory: options.directory,
    onFrame: options.onFrame,
    receive,
    onLost,
    silenceMs: () => silenceMs,
  })
  return { ready, whenLive, isLive: () => isUp, version: () => version, listen, close }

  async function sessions(): Promise<readonly ReadRequest[]> {
    version = toReadVersion(await rest.health().catch(() => undefined))
    if (options.silenceMs === undefined) {
      silenceMs = silenceOf(version)
      eventStream.rearm()
    }
    await watching.spell()
    await Promise.all(watching.directories().map(listen))
    const open = engine.openReplies().map((reply): ReadRequest => ({ ...placeOf(reply), reply, gap: true }))
    const { requests: found, isWhole } = await watching.atWork(missedSince)
    // Some directory could not be read, so it is read again later.
    blindSince = isWhole ? undefined : (missedSince ?? engine.listeningFrom() ?? 0)
    const all = [...found, ...open]
    const requests = new Map(all.map((request) => [request.sessionID, request])).values()
    const lists = createSharedLists(rest)
    return [...requests].map((request) => ({ ...request, since: missedSince, lists, complete: true }))
  }

  function onSynced(unread: readonly ReadRequest[]): void {
    isUp = true
    missedSince = undefined
    eventStream.succeed()
    stopLost?.()
    stopLost = undefined
    tellReplies('live')
    stopReady?.()
    settleReady?.resolve()
    for (const { resolve } of waiting) resolve()
    waiting = []
    orphans.review()
    options.onConnection?.('live')
    recheck.begin(unread)
    if (blindSince !== undefined) lookAgain(blindSince, 0)
  }

  /** Reads again what happened in a directory that could not be read. */
  function lookAgain(since: number, tries: number): void {
    stopBlind = clock.after(checkMs * 2 ** tries, () => {
      void watching.atWork(since).then(({ requests, isWhole }) => {
        if (!isUp || blindSince !== since) return
        recheck.add(requests)
        if (isWhole) blindSince = undefined
        else if (tries < maxTries) lookAgain(since, tries + 1)
      })
    })
  }

  function receive(events: readonly ReplyEvent[]): void {
    resync.receive(events)
    // The pending asks of a disposed instance are gone, without an event.
    if (!events.some((event) => event.type === 'disposed')) return
    recheck.again()
  }

  function onLost({ reason, brokeOff }: Parameters<EventStreamOptions['onLost']>[0]): void {
    lastReason = reason
    if (isUp) options.onConnection?.('lost', reason)
    if (isUp) missedSince ??= blindSince ?? recheck.unreadSince() ?? engine.newestAt() ?? 0
    stopBlind()
    isUp = false
    resync.lost()
    recheck.stop()
    // The server is there, so the next attempt may hold.
    if (brokeOff) stopReady ??= clock.after(settings.connectTimeoutMs, () => settleReady?.reject(lastReason ?? reason))
    else settleReady?.reject(reason)
    // Waiting doesn't fix a wrong password.
    if (reason.type === 'unauthorized') failWaiting(reason)
    onError(reason)
    tellReplies('lost')
    stopLost ??= clock.after(lostAfterMs, giveUp)
  }

  function tellReplies(connection: 'live' | 'lost'): void {
    const at = clock.now()
    engine.apply(
      engine.openReplies().map(({ sessionID }): ReplyEvent => ({ type: 'connection', sessionID, connection, at })),
    )
  }

  function giveUp(): void {
    const end = { type: 'settle', at: clock.now(), by: 'lost', reason: 'unreachable' } as const
    engine.apply(engine.openReplies().map(({ sessionID }) => ({ ...end, sessionID })))
  }

  function whenLive(): Promise<void> {
    if (isUp) return Promise.resolve()
    if (isClosed) return Promise.reject(closedError())
    const { connectTimeoutMs } = settings
    return new Promise((resolve, reject) => {
      const stop = clock.after(connectTimeoutMs, () => {
        waiting = waiting.filter((other) => other !== entry)
        reject(
          lastReason ??
            new ReplyError(
              'unreachable',
              `No event stream within ${connectTimeoutMs} ms: is an OpenCode server running there?`,
            ),
        )
      })
      const entry = {
        resolve: () => {
          stop()
          resolve()
        },
        reject: (error: ReplyError) => {
          stop()
          reject(error)
        },
      }
      waiting.push(entry)
    })
  }

  function close(): void {
    isUp = false
    isClosed = true
    eventStream.close()
    resync.lost()
    orphans.stop()
    stopLost?.()
    stopBlind()
    stopReady?.()
    recheck.stop()
    const reason = closedError()
    settleReady?.reject(reason)
    failWaiting(reason)
  }

  function failWaiting(reason: ReplyError): void {
    const failed = waiting
    waiting = []
    for (const { reject } of failed) reject(reason)
  }
}

function closedError(): ReplyError {
  return new ReplyError('closed', 'The connection was closed; connect() creates a new one.')
}
