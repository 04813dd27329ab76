import type { Reply, ReplyObserver } from '@reply/core'
import type { Sink } from '@reply/sink'

/** What a sink is not shown. */
export interface Hidden {
  /** Asks are answered by the bridge itself, so the chat never sees them. */
  readonly asks: boolean
  /** Whether a reply is left out. */
  readonly isLeftOut: (reply: Reply) => boolean
}

/** An observer that passes on to a sink what the chat should see. */
export function shownBy(sink: Sink, { asks, isLeftOut }: Hidden): ReplyObserver {
  const { settled: _, find: __, take: ___, stop: ____, ...observer } = sink
  const handlers = Object.entries(observer).map(([type, handle]) => {
    const passOn = (observation: { readonly reply: Reply }): void => {
      if (!handle || isLeftOut(observation.reply)) return
      Reflect.apply(handle, undefined, [asks ? { ...observation, reply: withoutAsks(observation.reply) } : observation])
    }
    return [type, passOn]
  })
  return Object.fromEntries(handlers)
}

function withoutAsks(reply: Reply): Reply {
  return reply.asks.length === 0
    ? reply
    : { ...reply, asks: [], phase: reply.phase === 'blocked' ? 'working' : reply.phase }
}
