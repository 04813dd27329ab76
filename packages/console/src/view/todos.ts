import type { Todo } from '@reply/core'
import { cleanLine } from '../format/sanitize.ts'
import { clip, type Line, line, type Span, span } from '../format/styled-line.ts'

/** Returns the whole checklist, one row for each item, cut to the width. */
export function todoLines(todos: readonly Todo[], width: number): readonly Line[] {
  return todos.map((todo) => clip([checkbox(todo), todoSpan(todo)], width))
}

/** Returns at most `most` rows: those around the first one that is not done, and the number left out. */
export function shortTodoLines(todos: readonly Todo[], options: { width: number; most: number }): readonly Line[] {
  const { width, most } = options
  if (todos.length <= most) return todoLines(todos, width)
  const next = todos.findIndex((todo) => !isClosed(todo))
  const room = Math.max(1, most - 2)
  const start = Math.min(Math.max(0, next < 0 ? todos.length : next), todos.length - room)
  const before = start > 0 ? [line(`  … ${start} before`, 'dim')] : []
  const after = todos.length - start - room
  return [
    ...before,
    ...todoLines(todos.slice(start, start + room), width),
    ...(after > 0 ? [line(`  … ${after} more`, 'dim')] : []),
  ]
}

/** Whether the item is completed or cancelled. */
function isClosed(todo: Todo): boolean {
  return todo.status === 'completed' || todo.status === 'cancelled'
}

/** Returns the box of an item, with a mark for its status. */
function checkbox(todo: Todo): Span {
  if (todo.status === 'completed') return span('[x] ', 'green')
  if (todo.status === 'in_progress') return span('[>] ', 'cyan')
  return todo.status === 'cancelled' ? span('[-] ', 'dim') : span('[ ] ', 'dim')
}

/**
 * Returns the content of an item, dimmed once it is closed, crossed out if it was cancelled, and bold while it is in
 * progress.
 */
function todoSpan(todo: Todo): Span {
  const content = cleanLine(todo.content)
  if (todo.status === 'cancelled') return span(content, 'dim', 'strikethrough')
  if (todo.status === 'completed') return span(content, 'dim')
  return todo.status === 'in_progress' ? span(content, 'bold') : span(content)
}
