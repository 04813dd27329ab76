import { createMirrors } from '../../src/config/mirrors.ts'
import { shardOf } from '../../src/state/shard-of.ts'
import type { Delivery } from './balancer.ts'
import type { Chat } from './chats.ts'
import { type Figure, percentile } from './figure.ts'

/** What a person did to a run. */
export interface Action {
  /** `press`: of a button. `typed`: an answer as a message. `stop`: wrote /stop. */
  readonly kind: 'press' | 'typed' | 'stop'
  readonly chat: Pick<Chat, 'key'>
  readonly at: number
  /** Whether a request of the platform may have brought it to a bridge. */
  isIn(delivery: Pick<Delivery, 'body'>): boolean
  /** When the chat showed what came of it. Undefined until then. */
  seenAt: number | undefined
}

/** What can be seen of actions from outside of the bridges. */
export interface SeenActions {
  readonly deliveries: readonly Pick<Delivery, 'at' | 'body' | 'member'>[]
  /** Calls to Telegram. The root is the name of the member that made the call, after a slash. */
  readonly calls: readonly { readonly root?: string; readonly method: string; readonly chatId: number | undefined }[]
}

/** How long a chat may take to show what came of an action that another bridge than the owner received, in ms. */
const mostMs = 500

/**
 * Returns how long chats took to show what came of actions, from the arrival at a bridge, and apart from that how long the platform
 * took to bring them. The calls must be of a time in which no shard changed its owner.
 */
export function actionFigures(actions: readonly Action[], { deliveries, calls }: SeenActions): readonly Figure[] {
  const owners = ownersIn(calls)
  const found = actions.map(({ kind, chat, at, isIn, seenAt = Number.POSITIVE_INFINITY }) => {
    const arrived = deliveries.find((delivery) => delivery.at >= at && isIn(delivery))
    const { at: arrivedAt = Number.POSITIVE_INFINITY, member } = arrived ?? {}
    return {
      kind,
      isElsewhere: member !== owners.get(shardOfChat(chat.key)),
      broughtMs: arrivedAt - at,
      shownMs: arrived ? seenAt - arrivedAt : Number.POSITIVE_INFINITY,
    }
  })
  const elsewhere = found.filter(({ isElsewhere }) => isElsewhere)
  const atOwner = found.filter(({ isElsewhere }) => !isElsewhere)
  const shown = (some: typeof found, share: number): number =>
    percentile(
      some.map(({ shownMs }) => shownMs),
      share,
    )
  return [
    { name: 'presses, typed answers and /stop at a bridge that is not the owner', value: elsewhere.length },
    { name: 'from such a bridge to the chat: p50, ms', value: shown(elsewhere, 0.5) },
    { name: 'from such a bridge to the chat: p99, ms', value: shown(elsewhere, 0.99), most: mostMs, isSpeed: true },
    ...(['press', 'typed', 'stop'] as const).map((kind) => ({
      name: `from such a bridge to the chat: worst ${kind}, ms`,
      value: shown(
        elsewhere.filter((one) => one.kind === kind),
        1,
      ),
    })),
    { name: 'from the owner to the chat: p99, ms', value: shown(atOwner, 0.99) },
    {
      name: 'before that, from the person to the bridge: worst, ms',
      value: percentile(
        found.map(({ broughtMs }) => broughtMs),
        1,
      ),
    },
  ]
}

/** Returns which member posts in the chats of each shard: its owner. */
function ownersIn(calls: SeenActions['calls']): ReadonlyMap<string, string> {
  const posts = calls.filter(({ method }) => /^(send(?!ChatAction)|edit)/.test(method))
  return new Map(posts.map(({ root = '', chatId }) => [shardOfChat(`tg:${chatId}`), root.slice(1)]))
}

function shardOfChat(key: string): string {
  const [channel = '', id = ''] = key.split(':')
  return shardOf({ channel, chat: { id } }, createMirrors([]))
}
