import { isObserver, notAnObserver } from '../../dispatch.ts'
import { type OnError, ReplyError } from '../../error.ts'
import type { ReplyObserver } from '../../observer.ts'
import type { Reply } from '../../reply.ts'

export type ObserversFor = (reply: Reply) => readonly ReplyObserver[]

/**
 * Calls `observe` for a reply's observers. Returns none if it throws or returns no list, and drops values that aren't
 * observers. Reports both.
 */
export function observersOf(
  observe: ObserversFor | undefined,
  reply: Reply,
  onError: OnError,
): readonly ReplyObserver[] {
  try {
    return [...(observe?.(reply) ?? [])].filter((given) => {
      if (!isObserver(given)) onError(notAnObserver(given))
      return isObserver(given)
    })
  } catch (cause) {
    const words = cause instanceof Error ? cause.message : String(cause)
    onError(
      new ReplyError('observer', `"observe" failed: ${words}. The reply continues without its observers.`, { cause }),
    )
    return []
  }
}
