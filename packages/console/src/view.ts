import { isShownText, type Message, type Part, type Reply } from '@reply/core'
import { type Line, line, span, wrap } from './line.ts'
import { outcomeLines } from './outcome.ts'
import { amount, duration } from './phrase.ts'
import { visibleLine } from './sanitize.ts'
import type { Block, Shown } from './shown.ts'
import { takenBack, textBlocks } from './text.ts'
import { hasOwnTodos, todoLines } from './todos.ts'
import { strayAsks, strayChildren, toolBlocks } from './tree.ts'
import { type Trouble, troubleBlock } from './trouble.ts'

export interface ViewOptions {
  /** Ms since the epoch. */
  readonly now: number
  /** Columns; infinite where rows don't wrap. */
  readonly width: number
  /** A terminal that is repainted; otherwise what is appended must say everything itself. */
  readonly live: boolean
  /** Show what the model thought. */
  readonly reasoning: boolean
  /** Show what was asked for, above the reply. */
  readonly prompt: boolean
  /** What held the reply up, in order. */
  readonly troubles: readonly Trouble[]
  readonly shown: Shown
}

/**
 * The picture of a reply from top to bottom, without what was committed already.
 *
 * It looks at nothing but its arguments: the same reply at the same time is the same picture, however it came about.
 */
export function view(reply: Reply, options: ViewOptions): readonly Block[] {
  const { shown } = options
  const blocks = [
    ...promptBlocks(reply, options),
    ...vanished(reply, shown),
    ...messageBlocks(reply, options),
    ...strayAsks(reply, { ...options, root: reply }),
    ...strayChildren(reply, { ...options, root: reply }),
    ...todoBlocks(reply, options),
    ...endBlocks(reply, options),
  ]
  return blocks.filter((block) => block.slice !== undefined || !shown.keys.has(block.key))
}

function promptBlocks(reply: Reply, { prompt, width }: ViewOptions): readonly Block[] {
  const text = reply.prompt?.text.trim() ?? ''
  const files = reply.prompt?.files.map(visibleLine) ?? []
  if (!prompt || (text === '' && files.length === 0)) return []
  const rows = [
    ...(text === '' ? [] : wrap(line(text, 'bold'), width, line('› ', 'magenta'), line('  '))),
    ...files.map((file) => line(`  + ${file}`, 'dim')),
  ]
  return [{ key: 'prompt', final: true, gap: 'always', kind: 'note', lines: rows }]
}

function messageBlocks(reply: Reply, options: ViewOptions): readonly Block[] {
  const troubles = options.troubles.filter(({ passing }) => !(passing && options.live))
  const there = new Set(reply.messages.flatMap(({ parts }) => parts.map(({ id }) => id)))
  const notes = (of: readonly Trouble[]): readonly Block[] => of.map((trouble) => troubleBlock(trouble, options.live))
  const compacted = compactionBlock(reply, options)
  const after = reply.messages.findIndex((message) => isAfterCompaction(message, reply))
  const blocks = reply.messages.flatMap((message, index) => {
    const own = message.parts.flatMap((part) => [
      ...partBlocks(part, reply, options),
      ...notes(troubles.filter((trouble) => trouble.after === part.id)),
    ])
    return index === after ? [...compacted, ...own] : own
  })
  return [
    ...notes(troubles.filter((trouble) => trouble.after === undefined)),
    ...(after < 0 ? [...blocks, ...compacted] : blocks),
    ...notes(troubles.filter((trouble) => trouble.after !== undefined && !there.has(trouble.after))),
  ]
}

function partBlocks(part: Part, reply: Reply, options: ViewOptions): readonly Block[] {
  if (part.type === 'tool') return toolBlocks(part, reply, { ...options, root: reply })
  if (part.type === 'reasoning') return options.reasoning ? textBlocks(part, options) : []
  if (part.type === 'file') {
    const name = visibleLine(part.filename ?? part.mime)
    return [{ key: `file:${part.id}`, final: true, gap: 'between', kind: 'row', lines: [line(`+ ${name}`, 'dim')] }]
  }
  if (part.type !== 'text') return []
  // What was shown of a text that is no longer to be seen has to be taken back, so those are looked at too.
  return options.shown.texts.has(part.id) || isShownText(part) ? textBlocks(part, options) : []
}

/** Texts that were shown and are not in the reply any more: reverted, or abandoned by a retry. */
function vanished(reply: Reply, shown: Shown): readonly Block[] {
  if (shown.texts.size === 0) return []
  const there = new Set(reply.messages.flatMap(({ parts }) => parts.map(({ id }) => id)))
  return [...shown.texts]
    .filter(([partID, source]) => source.trim() !== '' && !there.has(partID))
    .map(([partID], index) => ({ ...takenBack(partID, 'removed'), ...(index > 0 ? { lines: [] } : {}) }))
}

function isAfterCompaction(message: Message, { compaction }: Reply): boolean {
  return compaction !== undefined && message.createdAt !== undefined && message.createdAt >= compaction.startedAt
}

function compactionBlock({ compaction }: Reply, { width }: ViewOptions): readonly Block[] {
  if (compaction?.state !== 'done') return []
  const size = compaction.tokensBefore === undefined ? '' : ` · ${amount(compaction.tokensBefore)} tokens`
  const time = compaction.endedAt === undefined ? '' : ` · ${duration(compaction.endedAt - compaction.startedAt)}`
  const rows = wrap(line(`≡ context compacted${size}${time}`, 'dim'), width)
  return [{ key: `compaction:${compaction.startedAt}`, final: true, gap: 'always', kind: 'note', lines: rows }]
}

/** A terminal has the checklist in its foot until the end. A log has it when it is made, and once more if the end differs. */
function todoBlocks(reply: Reply, { live, width, shown }: ViewOptions): readonly Block[] {
  if (!hasOwnTodos(reply)) return []
  const settled = reply.phase === 'settled'
  if (!settled && (live || [...shown.keys].some((key) => key.startsWith('todos:')))) return []
  const key = `todos:${reply.todos.map(({ status, content }) => `${status} ${content}`).join('\n')}`
  return [{ key, final: true, gap: 'always', kind: 'note', lines: todoLines(reply.todos, width) }]
}

function endBlocks(reply: Reply, { width }: ViewOptions): readonly Block[] {
  const lines: readonly Line[] = outcomeLines(reply, width)
  if (lines.length === 0) return []
  return [{ key: 'outcome', final: true, gap: 'always', kind: 'note', lines: lines.map((row) => [span(''), ...row]) }]
}
