import type { Reply } from '@reply/core'
import type { Asked } from './asking.ts'
import type { Line } from './line.ts'
import type { Block } from './shown.ts'
import { statusLine } from './status.ts'
import { hasOwnTodos, shortTodoLines } from './todos.ts'

export interface FootOptions {
  readonly now: number
  readonly width: number
  readonly rows: number
  readonly asked: Asked | undefined
  /** Rows stand above it. */
  readonly gap: boolean
  readonly label: string | undefined
  readonly hint: string | undefined
}

const TODO_ROWS = 7

/** What stays in view under the reply: the checklist, as far as there is room, what is asked, and the status. */
export function footLines(reply: Reply, options: FootOptions): readonly Line[] {
  const { now, width, rows, asked, gap, label, hint } = options
  const ask = asked === undefined ? [] : [...(isTall(asked, rows) ? [] : asked.question), ...asked.input]
  const status = statusLine(reply, {
    now,
    width,
    ...(label === undefined ? {} : { label }),
    ...(hint === undefined ? {} : { hint }),
  })
  const most = Math.min(TODO_ROWS, rows - 4 - ask.length)
  const todos = hasOwnTodos(reply) && most >= 3 ? shortTodoLines(reply.todos, { width, most }) : []
  return [...(gap ? [[]] : []), ...todos, ...(todos.length > 0 && ask.length > 0 ? [[]] : []), ...ask, status]
}

/** A question too tall for the screen is committed, so that it can be read by scrolling; the place to type stays. */
export function spilled(asked: Asked | undefined, rows: number): readonly Block[] {
  if (asked === undefined || !isTall(asked, rows)) return []
  return [{ key: asked.key, final: true, gap: 'always', kind: 'note', lines: asked.question }]
}

/** Below the question: the place to type, the status. Above it: a row of what was said. */
function isTall({ question, input }: Asked, rows: number): boolean {
  return question.length + input.length + 3 > rows
}
