import type { Todo } from '@reply/core'
import type { TodoChange, TodoItem } from './decode/tools.ts'

/** The tasks of one session. They survive its runs and its process. */
export interface Checklist {
  /**
   * Applies a change and returns the new list, without the ids. A change of an unknown task adds it if the change has its
   * text, and is ignored otherwise.
   */
  apply(change: Exclude<TodoChange, { readonly type: 'own' }>): readonly Todo[]
}

/** The checklists of the most recently used sessions. */
export interface Checklists {
  /**
   * Returns the session's checklist, and counts it as used. A new one, and one that was evicted, is empty until Claude
   * Code lists its tasks.
   */
  of(sessionID: string): Checklist
}

/** How many sessions keep their tasks. */
const mostKept = 256

/**
 * Creates the checklists of all sessions of a source, none at first. `of` returns a session's, and evicts the least
 * recently used one beyond `mostKept`.
 */
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

/** Creates a checklist without tasks. `apply` changes the tasks and returns the whole list, to be shown in the reply. */
export function createChecklist(): Checklist {
  let tasks: readonly TodoItem[] = []
  return {
    apply: (change) => {
      tasks = change.type === 'all' ? change.tasks : withChange(tasks, change)
      return tasks.map(({ content, status }) => ({ content, status }))
    },
  }
}

/**
 * Returns the tasks with the change of one: removed with the status `deleted`, changed, or added with the default status
 * `pending`. The same tasks if an unknown one comes without a text.
 */
function withChange(tasks: readonly TodoItem[], change: Extract<TodoChange, { readonly type: 'task' }>) {
  const { id, content, status } = change
  if (status === 'deleted') return tasks.filter((task) => task.id !== id)
  const known = tasks.find((task) => task.id === id)
  // A task from before a restart of this program. Its text comes with the next full list.
  if (!known) return content === undefined ? tasks : [...tasks, { id, content, status: status ?? 'pending' }]
  const next = { id, content: content ?? known.content, status: status ?? known.status }
  return tasks.map((task) => (task === known ? next : task))
}
