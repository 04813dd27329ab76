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
 * if the platform refused all of them. An ask that is not posted yet waits for that, and keeps no other back. One that is answered
 * before the post is not told. Before each post, stores that it begins: a process that finds that counts it as one without a result.
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
    /** How often telling the chat of an ask had no effect, and how many ms ago the last time was. */
    const failed = new Map<string, { readonly times: number; readonly sinceLast: () => number }>()
    let isTelling = false
    return update

    /** Starts the timer of the ask that is due first. Each has its own time: one that is not posted yet keeps no other back. */
    function update(): void {
      if (isTelling) return
      timers.clear(timer)
      const [first] = delays().toSorted((one, other) => one.delayMs - other.delayMs)
      if (first) timers.restart(timer, Math.max(0, first.delayMs), () => tellOf(first.id))
    }

    /** Returns in how many ms each ask is due that the chat was not told of: after its time, and with increasing pauses after that. */
    function delays(): readonly { readonly id: string; readonly delayMs: number }[] {
      const waiting = [...pending].filter(([id]) => !over.has(id))
      return waiting.map(([id, sinceSeen]) => {
        const last = failed.get(id)
        const pauseMs = last ? backOffMs(last.times - 1) - last.sinceLast() : 0
        return { id, delayMs: Math.max(config.router.quietMs - sinceSeen(), pauseMs) }
      })
    }

    /** Tells the chat because of an ask, and of all others that are due. */
    function tellOf(first: string): void {
      isTelling = true
      const due = delays().flatMap(({ id, delayMs }) => (id === first || delayMs <= 0 ? [id] : []))
      void tell(place, due, !due.some((id) => failed.has(id)))
        .catch((error) => {
          onError(error)
          return due
        })
        .then((ids) => {
          for (const id of ids) over.add(id)
          const sinceLast = stopwatch(clock)
          for (const id of due)
            if (!over.has(id)) failed.set(id, { times: (failed.get(id)?.times ?? 0) + 1, sinceLast })
          isTelling = false
          update()
        })
    }
  }

  /** Posts the message if one of the asks that are due still waits. Resolves with all asks that need no other post. */
  async function tell(place: ChatPlace, due: readonly string[], isFirst: boolean): Promise<readonly string[]> {
    const rows = await Promise.all([...pending.keys()].map(async (id) => await readRow(place, id)))
    const over = rows.filter(({ doubtful }) => doubtful >= mostDoubtful)
    const shown = rows.filter(({ doubtful, post }) => doubtful < mostDoubtful && post !== undefined)
    const waiting = stillDue(shown, due)
    if (waiting.length === 0) return idsOf(over)
    const ids = await post(place, waiting, due, isFirst).catch((error) => {
      onError(error)
      // The message may be there.
      return idsOf(waiting)
    })
    return [...idsOf(over), ...ids]
  }

  /** Posts the message for asks, unless it may be there twice then. Resolves with those that need no other post. */
  async function post(
    place: ChatPlace,
    rows: readonly AskRow[],
    due: readonly string[],
    isFirst: boolean,
  ): Promise<readonly string[]> {
    // Another process tells the chat if this fails.
    if (!(await commit(rows.map(({ key, before, begun }) => change(key, before, begun))))) return idsOf(rows)
    const back = rows.map(({ key, before, begun }) => change(key, begun, before))
    const waiting = stillDue(rows, due)
    if (waiting.length === 0) {
      await commit(back)
      return []
    }
    const done = rows.map((row) => change(row.key, row.begun, waiting.includes(row) ? told : row.before))
    try {
      // Without mentions, a message notifies few people in a channel of Slack or Discord.
      const mentions = people.expectedAnswerers('permission', place, execution().prompt)
      const isShown = waiting.some(({ post }) => post === 'made')
      const note = { text: isShown ? texts.askWaits(origin) : texts.askWaitsUnshown(origin), mentions }
      await channels.post(place, note, { server, sessionID }, done)
      return idsOf(waiting)
    } catch (error) {
      if (!(error instanceof PortError)) throw error
      const { type } = error
      if (isFirst) onError(error)
      const isRetried = type === 'unreachable' || type === 'rate-limited'
      if (isRetried) await commit(back)
      if (isRetried || type === 'ambiguous') return []
      await commit(done)
      return idsOf(waiting)
    }
  }

  /**
   * Returns the asks that still wait, for they may be answered while the store is away. None if none of them is due: the others may not
   * have waited for long enough.
   */
  function stillDue(rows: readonly AskRow[], due: readonly string[]): readonly AskRow[] {
    const waiting = rows.filter(({ id }) => pending.has(id))
    return waiting.some(({ id }) => due.includes(id)) ? waiting : []
  }

  /** Reads what is stored of an ask in a place, and what came of its post. */
  async function readRow(place: ChatPlace, id: string): Promise<AskRow> {
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

/** What is stored of an ask in a place. */
interface AskRow {
  readonly id: string
  readonly key: string
  readonly before: string | undefined
  /** How many posts of the message have no result. */
  readonly doubtful: number
  /** What is stored when one more begins. */
  readonly begun: string
  /** What came of the post of the ask itself. */
  readonly post: 'made' | 'failed' | undefined
}

/** Returns the asks' requests. */
function idsOf(rows: readonly AskRow[]): readonly string[] {
  return rows.map(({ id }) => id)
}

/** Returns the key of what is stored of an ask in a place. Several chats may follow the same run, and each is told. */
function toldKey(requestID: string, place: ChatPlace): string {
  return `told/${requestID}/${placeKey(place)}`
}

/** Returns the write that replaces what is stored of an ask. */
function change(key: string, expected: string | undefined, value: string | undefined): Write {
  return { type: 'compare-and-set', key, expected, value, expiresInMs: rememberedMs }
}
