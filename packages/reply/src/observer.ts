import type { Change, ChangeOf, ChangeType } from './change.ts'
import type { Reply } from './reply.ts'

/**
 * The argument of an observer's method: the change's own fields, the reply after the whole event, and the wire event if
 * there was one.
 */
export type Observation<C extends Change = Change> = C & {
  readonly reply: Reply
  /**
   * The event as the source sent it. Absent if the change didn't come over the wire; the last event if several were
   * merged.
   */
  readonly raw?: unknown
}

/**
 * One optional method per change type: implement the ones you need. Plain objects and class instances both work.
 *
 * Methods are called in the order of the changes and are not awaited. If one throws or rejects, the error goes to
 * `onError` and the other observers continue.
 */
export type ReplyObserver = {
  readonly [T in ChangeType]?: (observation: Observation<ChangeOf<T>>) => unknown
}
