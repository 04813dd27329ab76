import { escapeInvisible, type Reply, type ToolPart } from '@reply/core'
import { type ToolEnd, toolFacts } from '@reply/core/show'
import type { Texts } from '../texts.ts'
import { oneLine } from './format.ts'

/** Returns the tool and its subject, for example "bash: npm test". */
export function titleOf(part: ToolPart, reply: Reply): string {
  const facts = toolFacts(part, reply)
  const subject = oneLine(facts.subject ?? '', 120)
  const name = escapeInvisible(facts.name)
  return subject === '' ? name : `${name}: ${subject}`
}

/** Returns how a call ended, in one line. A reason is cut to 200 UTF-16 units. Empty if the call was interrupted. */
export function endText(end: ToolEnd, texts: Texts): string {
  switch (end.type) {
    case 'rejected':
      return texts.toolRejected({ by: 'person', reason: end.reason && oneLine(end.reason, 200) })
    case 'forbidden':
      return texts.toolRejected({ by: 'rule', reason: undefined })
    case 'failed':
      return texts.toolFailed(oneLine(end.reason, 200))
    case 'exited':
      return texts.toolExited(end.code)
    case 'interrupted':
      return ''
    default:
      return end satisfies never
  }
}
