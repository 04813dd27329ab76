import { type Ask, answerOf, type Reply, totalUsage } from '@reply/core'
import { changesLine, changesOf, countChanges, dollars, duration } from '@reply/core/show'
import { type NoticeFields, type NoticeKind, quotable } from '@reply/sink/channel'
import { oneLine } from '@reply/sink/internal'
import type { Execution } from '../state/execution.ts'
import { texts } from '../texts.ts'

/** What a notice says. */
export interface NoticeTexts {
  readonly kind: NoticeKind
  readonly title: string
  readonly text: string
}

/** How much of an answer, an error or a request a notice quotes, in UTF-16 units. */
const quotedLength = 300

/**
 * Returns the texts about the end of a run: the outcome, the time, the changed files and the cost as far as they are known, and
 * the run's id. With `summary`, also the beginning of the answer, or the reason if it did not complete. Texts of a person or an
 * agent are only in the latter.
 */
export function endTexts(
  { id, status, reason, startedAt, finishedAt }: Execution,
  reply: Reply | undefined,
  content: NoticeFields['content'] = 'none',
): NoticeTexts {
  const kind = status === 'error' ? 'failure' : 'final'
  const from = reply?.startedAt ?? startedAt
  const until = reply?.settledAt ?? finishedAt
  const changes = countChanges(reply ? changesOf(reply) : [])
  const cost = reply ? totalUsage(reply).cost : 0
  const facts = [
    until === undefined ? undefined : duration(until - from),
    changes.files > 0 ? changesLine(changes) : undefined,
    cost > 0 ? dollars(cost) : undefined,
    id,
  ]
  const quoted = kind === 'final' && status === 'complete' ? reply && answerOf(reply) : reason
  return {
    kind,
    title: texts.noticeTitles[status],
    text: withQuote(facts.filter((fact) => fact !== undefined).join(' · '), content === 'summary' ? quoted : undefined),
  }
}

/** Returns the texts about an ask: what waits, and the run's id. With `summary`, also the beginning of what is asked. */
export function askTexts(
  { id }: Pick<Execution, 'id'>,
  ask: Ask,
  content: NoticeFields['content'] = 'none',
): NoticeTexts {
  const quoted = ask.type === 'permission' ? ask.title : ask.questions.map(({ question }) => question).join(' ')
  return {
    kind: 'ask',
    title: texts.noticeAsks[ask.type],
    text: withQuote(id, content === 'summary' ? quoted : undefined),
  }
}

/** Returns the facts, with the beginning of a quoted text below them, without secrets. */
function withQuote(facts: string, quoted = ''): string {
  const quote = oneLine(quotable(quoted), quotedLength)
  return quote === '' ? facts : `${facts}\n${quote}`
}
