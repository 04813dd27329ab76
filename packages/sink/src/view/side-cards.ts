import { isShownText, ownTodosOf, partsOf, type Reply } from '@reply/core'
import type { Card } from '../ledger/card.ts'
import { compactionKey, reasoningKey, todosKey } from '../ledger/keys.ts'
import { literal, smallPrint } from './format.ts'
import { amount } from './numbers.ts'
import type { ViewOptions } from './view.ts'

/** Stays in the chat: from here on the agent knows only a summary of what came before. */
export function compactionCard({ compaction }: Reply, { texts, small }: ViewOptions): Card | undefined {
  if (compaction?.state !== 'done') return undefined
  const { startedAt, endedAt, tokensBefore } = compaction
  const took = endedAt === undefined ? 0 : endedAt - startedAt
  const duration = took < 1000 ? undefined : texts.elapsed(took)
  const tokens = tokensBefore === undefined ? undefined : amount(tokensBefore)
  const source = smallPrint(texts.compacted({ tokens, duration }), small)
  return { type: 'note', key: compactionKey(compaction.partID ?? startedAt), source }
}

/** One checklist, edited as its items are done. The checklist of an earlier reply is not shown again. */
export function todosCard(reply: Reply, { texts, mode, policy, isStreaming }: ViewOptions): Card | undefined {
  const todos = ownTodosOf(reply)
  if (mode !== 'live' || isStreaming || policy.verbosity === 'quiet' || todos.length === 0) return undefined
  const lines = todos
    .map((todo) => texts.todo({ ...todo, content: literal(todo.content) }))
    .filter((line) => line.trim() !== '')
  const title = texts.todos.trim() === '' ? [] : [`**${texts.todos}**`]
  return { type: 'todos', key: todosKey, source: [...title, ...lines.map((line) => `- ${line}`)].join('\n') }
}

/** The model's reasoning as quotations, each where it occurred. */
export function reasoningCards(
  reply: Reply,
  { policy, mode }: ViewOptions,
): readonly { readonly card: Card; readonly at: number }[] {
  if (!policy.reasoning) return []
  let at = 0
  return partsOf(reply).flatMap((part) => {
    if (isShownText(part)) at += 1
    if (part.type !== 'reasoning' || part.status === 'abandoned' || part.text.trim() === '') return []
    if (part.status === 'open' && mode !== 'live') return []
    const source = part.text
      .trim()
      .split('\n')
      .map((line) => `> ${line}`)
      .join('\n')
    return [{ at, card: { type: 'reasoning', key: reasoningKey(part.id), source } satisfies Card }]
  })
}
