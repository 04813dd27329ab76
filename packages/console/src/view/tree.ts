import { type Ask, type Child, isTodoTool, type Reply, type ToolPart } from '@reply/core'
import { counted, duration, elapsed, endingOf, type ToolEnd, toolFacts } from '@reply/core/show'
import { contentOf, earlierTwinOf } from '../asks/ask.ts'
import { askLines, closedLines } from '../asks/panel.ts'
import { patchCount } from '../format/patch.ts'
import { givenTitle } from '../format/reply-label.ts'
import { cleanLine, visibleLine } from '../format/sanitize.ts'
import { fit, type Line, line, type Span, span } from '../format/styled-line.ts'
import { SYMBOLS, spinner } from '../format/symbols.ts'
import type { Block } from './blocks.ts'
import { fileBlock } from './files.ts'
import { failureText } from './outcome.ts'

export interface TreeView {
  readonly now: number
  readonly width: number
  readonly live: boolean
  /** The top-level reply: a person answers for the whole tree. */
  readonly root: Reply
}

/**
 * Returns the blocks of a tool call. A call is one row, with its files below. A sub-agent is its title, its own calls below, and its end. Asks of
 * the call come before it. Empty for an abandoned call, and without the row if the asks or the checklist show the same.
 */
export function toolBlocks(part: ToolPart, reply: Reply, options: TreeView): readonly Block[] {
  if (part.status === 'abandoned') return []
  const asks = reply.asks.filter((ask) => ask.sessionID === reply.sessionID && ask.callID === part.callID)
  const before = asks.flatMap((ask) => askBlocks(ask, reply, options))
  const child = reply.children.find((candidate) => candidate.callID === part.callID)
  if (child) return [...before, ...childBlocks(child, part, reply, options)]
  if (isShownElsewhere(part, asks)) return before
  const row = rowBlock(`tool:${part.id}`, part.status !== 'open', toolLine(part, { reply, ...options }))
  return [...before, row, ...(part.state.attachments ?? []).map((file) => fileBlock(file, options.width))]
}

/** Returns the blocks of sub-agents whose call is not in the reply, and of the ends of those that ran in the background. */
export function strayChildren(reply: Reply, options: TreeView): readonly Block[] {
  const calls = new Set(
    reply.messages.flatMap(({ parts }) => parts.map((part) => (part.type === 'tool' ? part.callID : ''))),
  )
  return reply.children.flatMap((child) => {
    if (child.background) return child.reply.phase === 'settled' ? [childStateRow(child, undefined, options)] : []
    return calls.has(child.callID ?? '')
      ? []
      : childBlocks(child, undefined, reply, options).map(unfinishedUntilSettled(reply))
  })
}

/** Returns the blocks of asks that belong to no call of this reply, in the order in which they came. */
export function strayAsks(reply: Reply, options: TreeView): readonly Block[] {
  const calls = new Set(
    reply.messages.flatMap(({ parts }) => parts.map((part) => (part.type === 'tool' ? part.callID : ''))),
  )
  return reply.asks
    .filter((ask) => ask.sessionID === reply.sessionID && !calls.has(ask.callID ?? ''))
    .flatMap((ask) => {
      const blocks = askBlocks(ask, reply, options)
      return ask.callID === undefined ? blocks : blocks.map(unfinishedUntilSettled(reply))
    })
}

/**
 * Returns a function that makes a block not final until the reply has settled. Servers up to 1.2 report a child or an ask
 * before the call that it belongs to, so its place is not known at first.
 */
function unfinishedUntilSettled(reply: Reply): (block: Block) => Block {
  return (block) => (reply.phase === 'settled' ? block : { ...block, final: false })
}

/** Whether the checklist or the answered question shows what this call did. A failure always gets a row. */
function isShownElsewhere(part: ToolPart, asks: readonly Ask[]): boolean {
  if (asks.some((ask) => ask.type === 'question')) return true
  if (isTodoTool(part.tool) || part.tool === 'question') return part.state.status !== 'error'
  return false
}

/** Returns an ask that a log prints when it is asked, and its result. A terminal shows a pending ask in its footer. */
function askBlocks(ask: Ask, reply: Reply, { width, live, root }: TreeView): readonly Block[] {
  const key = `ask:${ask.requestID}`
  const asking = (): readonly Line[] => askLines(ask, { width, reply, allowUnseen: false })
  const twin = earlierTwinOf(ask, root)
  // A terminal shows a pending ask in its footer. A log must print it at once.
  const asked: readonly Block[] =
    live || twin !== undefined
      ? []
      : [{ ...rowBlock(`${key}:asked:${contentOf(ask)}`, true, []), urgent: true, gap: 'always', lines: asking() }]
  const open = ask.status === 'pending' || twin?.status === 'pending'
  const isShown = open || (twin !== undefined && hasSameAnswer(ask, twin))
  return [...asked, { ...rowBlock(key, !open, []), lines: isShown ? [] : closedLines(ask, width) }]
}

/** Whether both permissions got the same answer, which is then shown once. */
function hasSameAnswer(ask: Ask, twin: Ask): boolean {
  if (ask.type !== 'permission' || twin.type !== 'permission') return false
  return ask.status === twin.status && ask.reply === twin.reply
}

/** Returns a sub-agent's title, its indented calls and asks, and its end. Only the title if it runs in the background. */
function childBlocks(child: Child, part: ToolPart | undefined, reply: Reply, options: TreeView): readonly Block[] {
  const inner = { ...options, width: options.width - 2 }
  const suffix = child.background ? line(' · in the background', 'dim') : []
  const start = rowBlock(
    childKey(child),
    true,
    fit([span('▸ ', 'magenta'), ...childName(child)], suffix, options.width),
  )
  if (child.background) return [start]
  const calls = child.reply.messages.flatMap(({ parts }) =>
    parts.flatMap((own) => (own.type === 'tool' ? toolBlocks(own, child.reply, inner) : [])),
  )
  const rest = [...strayAsks(child.reply, inner), ...strayChildren(child.reply, inner)]
  return [start, ...[...calls, ...rest].map(indentedBlock), indentedBlock(childStateRow(child, { part, reply }, inner))]
}

/** The call that started a child, and its reply. */
interface StartingCall {
  readonly part: ToolPart | undefined
  readonly reply: Reply
}

/** Returns a row with the sub-agent's result, or `working`, its number of calls and its time. */
function childStateRow(child: Child, call: StartingCall | undefined, options: TreeView): Block {
  const { now, width } = options
  const { reply } = child
  const isOver = reply.phase === 'settled' || hasContinuedAfter(call)
  const calls = reply.messages.reduce((sum, { parts }) => sum + parts.filter(({ type }) => type === 'tool').length, 0)
  const name = call === undefined ? childName(child) : []
  const facts = [
    isOver ? childEndText(child, call?.part) : 'working',
    ...(calls > 0 ? [counted(calls, 'call')] : []),
    ...childTime(reply, isOver ? undefined : now),
  ]
  const text = span(`${name.length > 0 ? ' · ' : ''}${facts.join(' · ')}`, 'dim')
  return rowBlock(
    `${childKey(child)}:end`,
    isOver,
    fit([isOver ? childMark(child, call?.part) : spinner(now), ...name], [text], width),
  )
}

/**
 * Whether the next step has begun after a call. Then its child has ended, too: a call's end may arrive before the end of its
 * child.
 */
function hasContinuedAfter(call: StartingCall | undefined): boolean {
  if (call?.part === undefined || call.part.status === 'open') return false
  return call.reply.messages.at(-1)?.id !== call.part.messageID
}

/**
 * Returns the mark of a sub-agent's ending: done, failed also for lost and timed out, and otherwise interrupted. For one
 * without an ending of its own, done if its call completed, and otherwise interrupted.
 */
function childMark(child: Child, part: ToolPart | undefined): Line[number] {
  const outcome = child.reply.outcome ?? (part?.state.status === 'completed' ? 'completed' : 'aborted')
  if (outcome === 'completed') return SYMBOLS.done
  return outcome === 'failed' || outcome === 'lost' || outcome === 'timed-out' ? SYMBOLS.failed : SYMBOLS.interrupted
}

/** Returns how a sub-agent ended. For one without an ending of its own, the result of its call. */
function childEndText({ reply }: Child, part: ToolPart | undefined): string {
  const ending = endingOf(reply)
  if (ending === undefined) return part?.state.status === 'completed' ? 'done' : 'interrupted'
  if (ending.type === 'failed') return `failed: ${failureText(ending, reply.error)}`
  return ending.type === 'completed' ? 'done' : ending.type
}

/** Returns the time so far if `now` is given, or else the total. Empty if it is unknown. */
function childTime(reply: Reply, now: number | undefined): readonly string[] {
  if (reply.startedAt === undefined) return []
  if (now !== undefined) return [elapsed(now - reply.startedAt)]
  return reply.settledAt === undefined ? [] : [duration(reply.settledAt - reply.startedAt)]
}

/**
 * Returns the key of a child: that of its call, or else of its session and prompt. Asking a sub-agent again starts another
 * child in the same session.
 */
function childKey({ callID, reply }: Child): string {
  return `child:${callID ?? `${reply.sessionID}:${reply.promptIDs[0] ?? ''}`}`
}

/** Returns a sub-agent's name and its title, without the suffix that OpenCode adds to the title. */
function childName(child: Child): Line {
  const title = (givenTitle(child.title) ?? '').replace(/ \(@\S+ subagent\)$/, '')
  return [span(visibleLine(child.agent ?? 'sub-agent'), 'bold'), ...(title === '' ? [] : [span(` ${title}`)])]
}

/** Returns a block of one row. */
function rowBlock(key: string, final: boolean, line: Line): Block {
  return { key, final, gap: 'between', kind: 'row', lines: [line] }
}

/** Returns the block with its rows indented by two columns. */
function indentedBlock(block: Block): Block {
  return { ...block, lines: block.lines.map((own) => [span('  '), ...own]) }
}

/** Returns one row: mark, name, subject, result, duration. */
function toolLine(part: ToolPart, options: { reply: Reply; now: number; width: number }): Line {
  const { reply, now, width } = options
  const { name, subject, end } = toolFacts(part, reply)
  const row = [
    end || part.state.status === 'completed' ? toolMark(end) : spinner(now),
    span(visibleLine(name), 'bold'),
    ...(subject === undefined ? [] : [span(' '), span(visibleLine(subject))]),
    ...(end ? toolEndText(end) : diffCount(part)),
  ]
  const time = toolTime(part, reply, now)
  return Number.isFinite(width) ? fit(row, time, width) : [...row, ...time]
}

/** Returns the mark of a call's end. Undefined means that it succeeded. */
function toolMark(end: ToolEnd | undefined): Span {
  switch (end?.type) {
    case undefined:
      return SYMBOLS.done
    case 'interrupted':
      return SYMBOLS.interrupted
    case 'rejected':
    case 'forbidden':
      return SYMBOLS.denied
    case 'failed':
    case 'exited':
      return SYMBOLS.failed
    default:
      return end satisfies never
  }
}

const longestReason = 300

/** Returns how a call ended, with a ` · ` before it. The error of a failed call is cut to `longestReason`. */
function toolEndText(end: ToolEnd): Line {
  switch (end.type) {
    case 'interrupted':
      return line(' · interrupted', 'yellow')
    case 'rejected':
      return line(end.reason === undefined ? ' · rejected' : ` · rejected: ${cleanLine(end.reason)}`, 'yellow')
    case 'forbidden':
      return line(' · denied by a rule', 'yellow')
    case 'failed':
      return line(` · ${cleanLine(end.reason).slice(0, longestReason) || 'failed'}`, 'red')
    case 'exited':
      return line(` · exit ${end.code}`, 'red')
    default:
      return end satisfies never
  }
}

/** Returns the number of added and removed lines. Empty without a diff. */
function diffCount({ state }: ToolPart): Line {
  const changed = patchCount(state.metadata?.diff)
  return changed === '' ? [] : line(` ${changed}`, 'dim')
}

/** Returns the rejected permission of a failed call. Undefined if there is none. */
function rejectionOf(part: ToolPart, reply: Reply): Ask | undefined {
  if (part.state.status !== 'error') return undefined
  return reply.asks.find((ask) => ask.type === 'permission' && ask.status === 'rejected' && ask.callID === part.callID)
}

/**
 * Returns the time so far, or the duration from 50 ms on. That of a rejected call includes the wait for the person. Empty
 * otherwise.
 */
function toolTime(part: ToolPart, reply: Reply, now: number): Line {
  const { startedAt, endedAt } = part.state
  if (startedAt === undefined) return []
  if (endedAt === undefined) return part.status === 'open' ? line(` ${elapsed(now - startedAt)}`, 'dim') : []
  // Servers up to 1.2 measure a rejected call from its end, without the wait for the person.
  const { askedAt = 0, closedAt = askedAt } = rejectionOf(part, reply) ?? {}
  const ms = Math.max(endedAt - startedAt, askedAt === 0 ? 0 : closedAt - askedAt)
  return ms < 50 ? [] : line(` ${duration(ms)}`, 'dim')
}
