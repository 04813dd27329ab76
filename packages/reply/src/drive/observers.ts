import { isObserver, notAnObserver } from '../dispatch.ts'
import { type OnError, ReplyError } from '../error.ts'
import type { ReplyObserver } from '../observer.ts'
import type { Reply } from '../reply.ts'

export type Observe = (reply: Reply) => readonly ReplyObserver[]

/** Asks for a reply's observers. One who throws, or gives no list, has none; what is no observer is left out. Both are reported. */
export function observersOf(observe: Observe | undefined, reply: Reply, onError: OnError): readonly ReplyObserver[] {
  try {
    return [...(observe?.(reply) ?? [])].filter((given) => {
      if (!isObserver(given)) onError(notAnObserver(given))
      return isObserver(given)
    })
  } catch (cause) {
    const words = cause instanceof Error ? cause.message : String(cause)
    onError(
      new ReplyError('observer', `"observe" failed: ${words}. The reply goes on without its observers.`, { cause }),
    )
    return []
  }
}
