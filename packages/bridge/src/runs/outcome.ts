import type { Reply } from '@reply/core'
import { quotable } from '@reply/sink/channel'
import type { Execution } from '../registry/execution.ts'

/** How an execution ended, by its reply. */
export function endOf(reply: Reply): Pick<Execution, 'status' | 'reason'> {
  const { outcome, error, lostReason } = reply
  switch (outcome) {
    case 'completed':
      return { status: 'complete' }
    case 'stopped':
      return { status: 'stopped', reason: 'Stopped before the end' }
    case 'aborted':
      return { status: 'stopped', reason: 'Aborted' }
    case 'timed-out':
      return { status: 'error', reason: 'Timed out' }
    case 'lost':
      return { status: 'error', reason: `Lost: ${lostReason ?? 'the end was not seen'}` }
    case 'failed':
    case undefined:
      return { status: 'error', reason: error ? quotable(error.message) || error.name : 'Failed' }
  }
  return outcome satisfies never
}

/** The session was deleted before the prompt could be posted. */
export function isGone({ outcome, error }: Reply): boolean {
  return outcome === 'failed' && error?.name === 'gone'
}
