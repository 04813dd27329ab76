import { type Clock, pendingAsks, type ReplyObserver } from '@reply/core'
import { stopwatch } from '@reply/core/internal'
import { PortError } from '@reply/sink/channel'
import { backOffMs } from '@reply/sink/internal'
import type { Channels } from '../chats/channels.ts'
import type { RouterConfig } from '../config/schema.ts'
import type { People } from '../people/people.ts'
import { type ChatPlace, placeKey } from '../place.ts'
import { toHint } from '../state/decode.ts'
import { type Execution, isQuietRun } from '../state/execution.ts'
import type { State } from '../state/state.ts'
import type { Write } from '../store/store.ts'
import { texts } from '../texts.ts'
import type { Timers } from '../timers.ts'
import { askObserver } from './ask-observer.ts'

/** How long it is remembered that a chat was told of an ask, in ms. */
const rememberedMs = 86_400_000
/** How many posts without a result are made: once more, like any other post. */
const mostDoubtful = 2
/** What is stored once a chat was told, or does not take it. */
const told = JSON.stringify('told')

/** A run that was started elsewhere. */
export interface QuietRun {
  /** Its own place first, then the place's mirrors. */
  readonly places: readonly ChatPlace[]
  /** The server's name in the config. */
  readonly server: string
  /** Where it was started, as the chats show it. */
  readonly origin: string
  /** Returns the execution as it is stored. */
  readonly execution: () => Execution
}

/**
 * Returns an observer of a run that was started elsewhere, whose asks were posted silently. If one is still pending after
 * `router.quietMs`, posts a message that notifies in each place, and in a shared chat mentions the people who may answer. Once for
 * all that wait then, also if several processes follow the run one after the other: an ask that comes later is told by itself. Says so
 * if the platform refused all of them, and waits until one is posted or refused. Before each post, stores that it begins: a process
 * that finds that counts it as one without a result.
 */
export function quietAsks(
  {
    channels,
    people,
    state,
    clock,
    config,
    onError,
  }: {
    readonly channels: Pick<Channels, 'post' | 'postOfAsk'>
    readonly people: Pick<People, 'expectedAnswerers'>
    readonly state: State
    readonly clock: Clock
    readonly config: { readonly router: Pick<RouterConfig, 'quietMs'> }
    readonly onError: (error: Error) => void
  },
  { places, server, origin, execution }: QuietRun,
  timers: Timers,
): ReplyObserver {
  /** How many ms ago each pending ask was first seen, by request, the first one first. Without those that were posted loudly. */
  let pending: ReadonlyMap<string, () => number> = new Map()
  let sessionID = ''
  const updates = places.map(tellWhenQuiet)
  return askObserver((reply) => {
    const asks = reply.phase === 'settled' ? [] : pendingAsks(reply)
    const isQuiet = isQuietRun(execution())
    const quiet = asks.filter(({ requestID }) => isQuiet || pending.has(requestID))
    pending = new Map(quiet.map(({ requestID }) => [requestID, pending.get(requestID) ?? stopwatch(clock)]))
    sessionID = reply.sessionID
    for (const update of updates) update()
  })

  /** Returns what to call when the pending asks have changed. It tells the chat of each that has waited for long enough, one at a time. */
  function tellWhenQuiet(place: ChatPlace): () => void {
    const timer = `told/${execution().id}/${placeKey(place)}`
    /** The asks that the chat was told of, or does not take. */
    const over = new Set<string>()
    /** The ask that the timer or the post is for. */
    let next: string | undefined
    let failures = 0
    let isTelling = false
    return update

    /** Starts the timer of the first ask that the chat was not told of. */
    function update(): void {
      const [first, sinceSeen] = [...pending].find(([id]) => !over.has(id)) ?? []
      if (isTelling || first === next) return
      next = first
      failures = 0
      timers.clear(timer)
      if (first !== undefined && sinceSeen) tellAfter(config.router.quietMs - sinceSeen(), first)
    }

    /** Tells the chat in so many ms, and again with increasing pauses while that has no effect and the ask still waits. */
    function tellAfter(delayMs: number, requestID: string): void {
      timers.restart(timer, Math.max(0, delayMs), () => {
        isTelling = true
        void tell(place, requestID, failures === 0)
          .catch((error) => {
            onError(error)
            return [requestID]
          })
          .then((ids) => {
            for (const id of ids) over.add(id)
            isTelling = false
            if (pending.has(requestID) && !over.has(requestID)) return tellAfter(backOffMs(failures++), requestID)
            next = undefined
            update()
          })
      })
    }
  }

  /** Posts the message, unless it may be there twice then. Resolves with all asks that need no other post. */
  async function tell(place: ChatPlace, requestID: string, isFirst: boolean): Promise<readonly string[]> {
    const rows = await Promise.all([...pending.keys()].map(async (id) => await readRow(place, id)))
    const over = rows.filter(({ doubtful }) => doubtful >= mostDoubtful)
    // The others may not have waited for long enough.
    if (over.some(({ id }) => id === requestID)) return over.map(({ id }) => id)
    const waiting = rows.filter(({ doubtful, post }) => doubtful < mostDoubtful && post !== undefined)
    if (waiting.length === 0) return over.map(({ id }) => id)
    const all = [...over, ...waiting].map(({ id }) => id)
    // Another process tells the chat if this fails.
    if (!(await commit(waiting.map(({ key, before, begun }) => change(key, before, begun))))) return all
    const done = waiting.map(({ key, begun }) => change(key, begun, told))
    try {
      // Without mentions, a message notifies few people in a channel of Slack or Discord.
      const mentions = people.expectedAnswerers('permission', place, execution().prompt)
      const isShown = waiting.some(({ post }) => post === 'made')
      const note = { text: isShown ? texts.askWaits(origin) : texts.askWaitsUnshown(origin), mentions }
      await channels.post(place, note, { server, sessionID }, done)
      return all
    } catch (error) {
      if (!(error instanceof PortError)) throw error
      const { type } = error
      if (isFirst) onError(error)
      const isRetried = type === 'unreachable' || type === 'rate-limited'
      if (isRetried) await commit(waiting.map(({ key, before, begun }) => change(key, begun, before)))
      if (isRetried || type === 'ambiguous') return over.map(({ id }) => id)
      await commit(done)
      return all
    }
  }

  /** Reads what is stored of an ask in a place, and what came of its post. */
  async function readRow(place: ChatPlace, id: string) {
    const key = toldKey(id, place)
    const before = await state.withRetries(() => state.read(key))
    const stored = before === undefined ? 0 : toHint(before)
    const doubtful = stored === 'told' ? mostDoubtful : stored
    return { id, key, before, doubtful, begun: JSON.stringify(doubtful + 1), post: await channels.postOfAsk(place, id) }
  }

  /** Commits writes. Resolves with false if another process has replaced what is stored. */
  async function commit(writes: readonly Write[]): Promise<boolean> {
    return await state.withRetries(() => state.commit(writes))
  }
}

/** Returns the key of what is stored of an ask in a place. Several chats may follow the same run, and each is told. */
function toldKey(requestID: string, place: ChatPlace): string {
  return `told/${requestID}/${placeKey(place)}`
}

/** Returns the write that replaces what is stored of an ask. */
function change(key: string, expected: string | undefined, value: string | undefined): Write {
  return { type: 'compare-and-set', key, expected, value, expiresInMs: rememberedMs }
}
