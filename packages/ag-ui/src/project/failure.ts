import type { Reply } from '@reply/core'
import { duration, endingOf, lossTexts } from '@reply/core/show'

/** Why a reply did not complete, in a sentence for people. */
export function failureText(reply: Reply): string {
  const ending = endingOf(reply)
  switch (ending?.type) {
    case 'failed':
      return ending.reason ?? 'The run failed.'
    case 'lost':
      return lossTexts[ending.why]
    case 'timed-out':
      return ending.afterMs === undefined
        ? 'The run took too long.'
        : `The run took too long: ${duration(ending.afterMs)}.`
    case 'aborted':
      return 'The run was stopped.'
    default:
      return ''
  }
}
