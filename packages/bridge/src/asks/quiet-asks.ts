import { pendingAsks, type ReplyObserver } from '@reply/core'
import type { Channels } from '../chats/channels.ts'
import type { RouterConfig } from '../config/schema.ts'
import type { ChatPlace } from '../place.ts'
import type { State } from '../state/state.ts'
import { texts } from '../texts.ts'
import type { Timers } from '../timers.ts'
import { askObserver } from './ask-observer.ts'

/** How long it is remembered that a chat was told of an ask, in ms. */
const rememberedMs = 86_400_000

/**
 * Returns an observer of a run that was started elsewhere, whose asks were posted silently. If one is still pending after
 * `router.quietMs`, posts a message that notifies, once for all that wait then, also if several processes follow the run one after
 * the other.
 */
export function quietAsks(
  {
    channels,
    state,
    config,
    onError,
  }: {
    readonly channels: Pick<Channels, 'tryPost'>
    readonly state: State
    readonly config: { readonly router: Pick<RouterConfig, 'quietMs'> }
    readonly onError: (error: Error) => void
  },
  { place, server, origin }: { readonly place: ChatPlace; readonly server: string; readonly origin: string },
  timers: Timers,
): ReplyObserver {
  let waiting = ''
  return askObserver((reply) => {
    const [first] = reply.phase === 'settled' ? [] : pendingAsks(reply)
    if (first?.requestID === waiting) return
    if (waiting !== '') timers.clear(waiting)
    waiting = first?.requestID ?? ''
    if (!first) return
    const { requestID } = first
    timers.restart(requestID, config.router.quietMs, () => {
      const told = { type: 'put-if-absent', key: `told/${requestID}`, value: '', expiresInMs: rememberedMs } as const
      void state
        .withRetries(() => state.commit([told]))
        .then((isFirst) => {
          if (!isFirst) return
          const session = { server, sessionID: reply.sessionID }
          void channels.tryPost(place, { text: texts.askWaits(origin) }, session)
        })
        .catch(onError)
    })
  })
}
