import { ownTodosOf, pendingAsks, type Reply } from '@reply/core'
import { contextPercent } from '@reply/core/show'
import { texts } from '@reply/sink'
import { statusFacts } from '@reply/sink/internal'
import type { AskRows } from '../asks/asking.ts'
import { cleanLine } from '../format/sanitize.ts'
import { fit, type Line, line, type Span, span, widthOf } from '../format/styled-line.ts'
import { spinner } from '../format/symbols.ts'
import type { Block } from './blocks.ts'
import { shortTodoLines } from './todos.ts'

export interface FooterView {
  readonly now: number
  readonly width: number
  readonly rows: number
  readonly asked: PlacedAsk | undefined
  /** Whether there are rows above the footer. */
  readonly gap: boolean
  readonly label: string | undefined
  readonly hint: string | undefined
}

const TODO_ROWS = 7

/**
 * Returns the rows that stay in view below the reply: the checklist as far as it fits, the ask, and the status. Leaves out the
 * checklist if fewer than three rows are left for it.
 */
export function footerLines(reply: Reply, options: FooterView): readonly Line[] {
  const { now, width, rows, asked, gap, label, hint } = options
  const ask = asked === undefined ? [] : [...asked.question, ...asked.input]
  const status = statusLine(reply, { now, width, label, hint })
  const most = Math.min(TODO_ROWS, rows - 4 - ask.length)
  const todos = most >= 3 ? shortTodoLines(ownTodosOf(reply), { width, most }) : []
  return [...(gap ? [[]] : []), ...todos, ...(todos.length > 0 && ask.length > 0 ? [[]] : []), ...ask, status]
}

/**
 * Returns one row: the label, the activity, the elapsed time, the step, how full the context is, and the hint.
 *
 * If it doesn't fit, the hint is dropped first, then the context, then the step. Then the activity is cut.
 */
function statusLine(
  reply: Reply,
  { now, width, label, hint }: Pick<FooterView, 'now' | 'width' | 'label' | 'hint'>,
): Line {
  const head = [statusMark(reply, now), ...(label === undefined ? [] : line(`${cleanLine(label)} · `, 'bold'))]
  const { activity, elapsed, step, context } = statusFacts(reply, { now, texts })
  const row = [...head, ...activityLine(reply, cleanLine(activity))]
  const facts = [
    dimLine(elapsed),
    dimLine(step),
    context === undefined ? [] : line(context, contextTone(reply)),
    dimLine(hint || undefined),
  ]
  const shown = facts.filter((fact) => fact.length > 0)
  while (shown.length > 1 && Math.min(widthOf(row), 24) + widthOf(withSeparators(shown)) > width) shown.pop()
  return fit(row, withSeparators(shown), width)
}

/** Returns the mark before the status: of a lost connection, of a pending ask, or else a spinner. */
function statusMark(reply: Reply, now: number): Span {
  if (reply.connection === 'lost') return span('! ', 'red')
  return reply.phase === 'blocked' ? span('? ', 'yellow') : spinner(now)
}

/** Returns the activity in its colour. While blocked, the number of answers it waits for. */
function activityLine(reply: Reply, activity: string): Line {
  if (reply.connection === 'lost') return line(activity, 'red')
  if (reply.phase !== 'blocked') return reply.retry || reply.stalled ? line(activity, 'yellow') : line(activity)
  const count = pendingAsks(reply).length
  return line(count > 1 ? `Waiting for ${count} answers` : 'Waiting for an answer', 'yellow')
}

/** Returns the tone for how full the context is: red from 80 percent on, yellow from 60 on, dim below. */
function contextTone(reply: Reply): 'red' | 'yellow' | 'dim' {
  const percent = contextPercent(reply) ?? 0
  if (percent >= 80) return 'red'
  return percent >= 60 ? 'yellow' : 'dim'
}

/** Returns the text dimmed. Empty for an undefined one. */
function dimLine(text: string | undefined): Line {
  return text === undefined ? [] : line(text, 'dim')
}

/** Returns the facts in one line, with a ` · ` before each. */
function withSeparators(facts: readonly Line[]): Line {
  return facts.flatMap((fact) => [span(' · ', 'dim'), ...fact])
}

/** The part of an ask that stays in view. */
export type PlacedAsk = Pick<AskRows, 'question' | 'input'>

export interface AskPlacement {
  /** Rows to commit, so that they can be read by scrolling. */
  readonly spill: readonly Block[]
  readonly footer: PlacedAsk | undefined
  /** The key of the question that can be read completely, here or by scrolling. */
  readonly offered: string | undefined
}

/**
 * Returns where a question goes. One that is too tall for the screen, or that shares it with other replies' rows, is
 * committed, and the input is offered after it. It waits while text is being written above.
 */
export function placeAsk(
  asked: AskRows | undefined,
  options: {
    readonly rows: number
    readonly shared: boolean
    readonly isTextOpen: boolean
    readonly isShown: (key: string) => boolean
  },
): AskPlacement {
  const { rows, shared, isTextOpen, isShown } = options
  if (asked === undefined) return { spill: [], footer: undefined, offered: undefined }
  const { key, question, input } = asked
  const isWhole = !isTall(asked, rows) && !(shared && question.length > 0)
  if (isWhole) return { spill: [], footer: asked, offered: key }
  if (isShown(key)) return { spill: [], footer: { question: [], input }, offered: key }
  if (isTextOpen) return { spill: [], footer: undefined, offered: undefined }
  const block: Block = { key, final: true, gap: 'always', kind: 'note', lines: question }
  return { spill: [block], footer: { question: [], input }, offered: key }
}

/** Whether the ask doesn't fit the screen together with the status and a row of text above. */
function isTall({ question, input }: AskRows, rows: number): boolean {
  return question.length + input.length + 3 > rows
}
