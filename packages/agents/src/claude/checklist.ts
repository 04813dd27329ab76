import type { Todo } from '@reply/core'
import type { TodoChange, TodoItem } from './decode/tools.ts'

/** The tasks of one session: they outlive its runs, and its process. */
export interface Checklist {
  /** Returns the list after a change. */
  apply(change: Exclude<TodoChange, { readonly type: 'own' }>): readonly Todo[]
}

/** The checklists of the sessions that were used last: one that was left out begins anew, until Claude Code lists its tasks. */
export interface Checklists {
  of(sessionID: string): Checklist
}

/** How many sessions' tasks are remembered. */
const mostKept = 256

export function createChecklists(): Checklists {
  const kept = new Map<string, Checklist>()
  return {
    of: (sessionID) => {
      const checklist = kept.get(sessionID) ?? createChecklist()
      kept.delete(sessionID)
      kept.set(sessionID, checklist)
      const [oldest] = kept.keys()
      if (kept.size > mostKept && oldest !== undefined) kept.delete(oldest)
      return checklist
    },
  }
}

export function createChecklist(): Checklist {
  let tasks: readonly TodoItem[] = []
  return {
    apply: (change) => {
      tasks = change.type === 'all' ? change.tasks : changed(tasks, change)
      return tasks.map(({ content, status }) => ({ content, status }))
    },
  }
}

function changed(tasks: readonly TodoItem[], change: Extract<TodoChange, { readonly type: 'task' }>) {
  const { id, content, status } = change
  if (status === 'deleted') return tasks.filter((task) => task.id !== id)
  const known = tasks.find((task) => task.id === id)
  // A task of an earlier process of ours: its words come with the next whole list.
  if (!known) return content === undefined ? tasks : [...tasks, { id, content, status: status ?? 'pending' }]
  const next = { id, content: content ?? known.content, status: status ?? known.status }
  return tasks.map((task) => (task === known ? next : task))
}
