import type { Change, ChangeOf, ChangeType } from './change.ts'
import type { Reply } from './reply.ts'

/** What an observer's method receives: the change's own fields, the reply after the whole event, and the wire event if there was one. */
export type Observation<C extends Change = Change> = C & {
  readonly reply: Reply
  /** The event as the source sent it. Absent for what did not come over the wire; the last one where several were merged. */
  readonly raw?: unknown
}

/**
 * One optional method per change type: implement what you need. A plain object and a class instance both fit.
 *
 * Methods are called in the order of the changes and are not awaited. One that throws or rejects is reported to
 * `onError` and disturbs nobody else.
 */
export type ReplyObserver = {
  readonly [T in ChangeType]?: (observation: Observation<ChangeOf<T>>) => unknown
}
