import { isShownText, ownTodosOf, type Part, type Reply } from '@reply/core'
import { amount, duration } from '@reply/core/show'
import { visibleLine } from '../format/sanitize.ts'
import { type Line, line, span, wrap } from '../format/styled-line.ts'
import type { Block, Committed } from './blocks.ts'
import { type Delay, delayBlock } from './delays.ts'
import { fileBlock } from './files.ts'
import { outcomeLines } from './outcome.ts'
import { retraction, textBlocks } from './text.ts'
import { todoLines } from './todos.ts'
import { strayAsks, strayChildren, toolBlocks } from './tree.ts'

export interface ReplyView {
  /** In ms since the epoch. */
  readonly now: number
  /** Columns. Infinite if rows don't wrap. */
  readonly width: number
  /** True for a terminal that is repainted. False for append-only output, which must contain everything. */
  readonly live: boolean
  /** Show the model's reasoning. */
  readonly reasoning: boolean
  /** Show the prompt above the reply. */
  readonly prompt: boolean
  /** What delayed the reply, in order. */
  readonly delays: readonly Delay[]
  readonly shown: Committed
}

/**
 * Returns the rows of a reply from top to bottom, without those already committed.
 *
 * Pure: the same reply at the same time gives the same blocks, whatever events led to it.
 */
export function view(reply: Reply, options: ReplyView): readonly Block[] {
  const { shown } = options
  const blocks = [
    ...promptBlocks(reply, options),
    ...removedTextNotes(reply, shown),
    ...messageBlocks(reply, options),
    ...strayAsks(reply, { ...options, root: reply }),
    ...strayChildren(reply, { ...options, root: reply }),
    ...todoBlocks(reply, options),
    ...outcomeBlocks(reply, options),
  ]
  return blocks.filter((block) => block.slice !== undefined || !shown.keys.has(block.key))
}

/** Returns the prompt and the names of its files. Empty unless `prompt` is set, and for a prompt with neither. */
function promptBlocks(reply: Reply, { prompt, width }: ReplyView): readonly Block[] {
  const text = reply.prompt?.text.trim() ?? ''
  const files = reply.prompt?.files.map(visibleLine) ?? []
  if (!prompt || (text === '' && files.length === 0)) return []
  const rows = [
    ...(text === '' ? [] : wrap(line(text, 'bold'), width, line('› ', 'magenta'), line('  '))),
    ...files.map((file) => line(`  + ${file}`, 'dim')),
  ]
  return [{ key: 'prompt', final: true, gap: 'always', kind: 'note', lines: rows }]
}

/**
 * Returns the blocks of all parts in order. A delay follows the part after which it began, and the compaction precedes the
 * message after it.
 */
function messageBlocks(reply: Reply, options: ReplyView): readonly Block[] {
  const delays = options.delays.filter(({ passing }) => !(passing && options.live))
  const partIDs = new Set(reply.messages.flatMap(({ parts }) => parts.map(({ id }) => id)))
  const delayBlocks = (of: readonly Delay[]): readonly Block[] => of.map((delay) => delayBlock(delay, options.live))
  const compacted = compactionBlocks(reply, options)
  // Index of the first message after it. Without one, the compaction is the last block.
  const afterCompaction = reply.messages.findIndex(({ id }) => id === reply.compaction?.afterMessageID) + 1
  const blocks = reply.messages.flatMap((message, index) => {
    const own = message.parts.flatMap((part) => [
      ...partBlocks(part, reply, options),
      ...delayBlocks(delays.filter((delay) => delay.afterPartID === part.id)),
    ])
    return index === afterCompaction ? [...compacted, ...own] : own
  })
  return [
    ...delayBlocks(delays.filter((delay) => delay.afterPartID === undefined)),
    ...(afterCompaction >= reply.messages.length ? [...blocks, ...compacted] : blocks),
    ...delayBlocks(delays.filter((delay) => delay.afterPartID !== undefined && !partIDs.has(delay.afterPartID))),
  ]
}

/**
 * Returns the blocks of a part: of a call, of a file, or of a text. Empty for reasoning unless `reasoning` is set, for
 * other types, and for a hidden text unless it was shown before.
 */
function partBlocks(part: Part, reply: Reply, options: ReplyView): readonly Block[] {
  if (part.type === 'tool') return toolBlocks(part, reply, { ...options, root: reply })
  if (part.type === 'reasoning') return options.reasoning ? textBlocks(part, options) : []
  if (part.type === 'file') return part.status === 'abandoned' ? [] : [fileBlock(part, options.width)]
  if (part.type !== 'text') return []
  // Hidden texts are included if they were shown before, because that has to be taken back.
  return options.shown.texts.has(part.id) || isShownText(part) ? textBlocks(part, options) : []
}

/** Returns one visible note if committed texts were reverted or abandoned by a retry. Takes each of them back. */
function removedTextNotes(reply: Reply, shown: Committed): readonly Block[] {
  if (shown.texts.size === 0) return []
  const partIDs = new Set(reply.messages.flatMap(({ parts }) => parts.map(({ id }) => id)))
  return [...shown.texts]
    .filter(([partID, source]) => source.trim() !== '' && !partIDs.has(partID))
    .map(([partID], index) => ({ ...retraction(partID, 'removed'), ...(index > 0 ? { lines: [] } : {}) }))
}

/** Returns a note about the compaction, with its size and duration if known. Empty unless it is done. */
function compactionBlocks({ compaction }: Reply, { width }: ReplyView): readonly Block[] {
  if (compaction?.state !== 'done') return []
  const size = compaction.tokensBefore === undefined ? '' : ` · ${amount(compaction.tokensBefore)} tokens`
  const time = compaction.endedAt === undefined ? '' : ` · ${duration(compaction.endedAt - compaction.startedAt)}`
  const rows = wrap(line(`≡ context compacted${size}${time}`, 'dim'), width)
  return [{ key: `compaction:${compaction.startedAt}`, final: true, gap: 'always', kind: 'note', lines: rows }]
}

/**
 * Returns the checklist, if it is due. A terminal shows it in its footer until the end. A log prints it when it is made, and
 * again if it differs at the end.
 */
function todoBlocks(reply: Reply, { live, width, shown }: ReplyView): readonly Block[] {
  const todos = ownTodosOf(reply)
  if (todos.length === 0) return []
  const settled = reply.phase === 'settled'
  if (!settled && (live || [...shown.keys].some((key) => key.startsWith('todos:')))) return []
  const key = `todos:${todos.map(({ status, content }) => `${status} ${content}`).join('\n')}`
  return [{ key, final: true, gap: 'always', kind: 'note', lines: todoLines(todos, width) }]
}

/** Returns the end of the reply. Empty until it has settled. */
function outcomeBlocks(reply: Reply, { width }: ReplyView): readonly Block[] {
  const lines: readonly Line[] = outcomeLines(reply, width)
  if (lines.length === 0) return []
  return [{ key: 'outcome', final: true, gap: 'always', kind: 'note', lines: lines.map((row) => [span(''), ...row]) }]
}
