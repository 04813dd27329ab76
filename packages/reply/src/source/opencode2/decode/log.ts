import { isFields } from '../../../fields.ts'

/** Why the last execution in a session's log was interrupted; undefined if it was not. */
export function endReasonIn(events: readonly unknown[]): string | undefined {
  const last = events.findLast(
    (event) => isFields(event) && typeof event.type === 'string' && event.type.startsWith('session.execution.'),
  )
  const reason = isFields(last) && isFields(last.data) ? last.data.reason : undefined
  return typeof reason === 'string' ? reason : undefined
}
