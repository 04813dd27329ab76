import { pendingAsks, type ReplyObserver } from '@reply/core'
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
 * all that wait then, also if several processes follow the run one after the other. Says so if the platform refused all of them, and
 * waits until one is posted or refused. Before each post, stores that it begins: a process that finds that counts it as one without a
 * result.
 */
export function quietAsks(
  {
    channels,
    people,
    state,
    config,
    onError,
  }: {
    readonly channels: Pick<Channels, 'post' | 'postOfAsk'>
    readonly people: Pick<People, 'expectedAnswerers'>
    readonly state: State
    readonly config: { readonly router: Pick<RouterConfig, 'quietMs'> }
    readonly onError: (error: Error) => void
  },
  { places, server, origin, execution }: QuietRun,
  timers: Timers,
): ReplyObserver {
  let waiting = ''
  let pending: readonly string[] = []
  return askObserver((reply) => {
    const asks = reply.phase === 'settled' ? [] : pendingAsks(reply)
    pending = asks.map(({ requestID }) => requestID)
    const [first] = asks
    if (first?.requestID === waiting) return
    for (const place of places) timers.clear(toldKey(waiting, place))
    waiting = first?.requestID ?? ''
    if (!first || !isQuietRun(execution())) return
    for (const place of places) tellAfter(config.router.quietMs, place, first.requestID, reply.sessionID)
  })

  /** Tells a chat in so many ms, and again with increasing pauses while that has no effect, unless the ask no longer waits. */
  function tellAfter(delayMs: number, place: ChatPlace, requestID: string, sessionID: string, failures = 0): void {
    timers.restart(toldKey(requestID, place), delayMs, () => {
      void tell(place, requestID, sessionID, failures === 0)
        .then((isOver) => {
          if (!isOver && waiting === requestID)
            tellAfter(backOffMs(failures), place, requestID, sessionID, failures + 1)
        })
        .catch(onError)
    })
  }

  /** Posts the message, unless it may be there twice then. Resolves with whether no other post is needed. */
  async function tell(place: ChatPlace, requestID: string, sessionID: string, isFirst: boolean): Promise<boolean> {
    const key = toldKey(requestID, place)
    const before = await state.withRetries(() => state.read(key))
    const doubtful = before === undefined ? 0 : toHint(before)
    if (doubtful === 'told' || doubtful >= mostDoubtful) return true
    const posts = await Promise.all(pending.map((id) => channels.postOfAsk(place, id)))
    const isShown = posts.includes('made')
    if (!isShown && !posts.includes('failed')) return false
    const begun = JSON.stringify(doubtful + 1)
    if (!(await replace(key, before, begun))) return true
    try {
      // Without mentions, a message notifies few people in a channel of Slack or Discord.
      const mentions = people.expectedAnswerers('permission', place, execution().prompt)
      const note = { text: isShown ? texts.askWaits(origin) : texts.askWaitsUnshown(origin), mentions }
      await channels.post(place, note, { server, sessionID }, [change(key, begun, told)])
      return true
    } catch (error) {
      if (!(error instanceof PortError)) throw error
      const { type } = error
      if (isFirst) onError(error)
      const isRetried = type === 'unreachable' || type === 'rate-limited'
      if (type !== 'ambiguous') await replace(key, begun, isRetried ? before : told)
      return type !== 'ambiguous' && !isRetried
    }
  }

  /** Replaces what is stored of an ask. Resolves with false if another process has. */
  async function replace(...values: Parameters<typeof change>): Promise<boolean> {
    return await state.withRetries(() => state.commit([change(...values)]))
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
