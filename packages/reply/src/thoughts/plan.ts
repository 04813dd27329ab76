import type { Todo } from '../reply.ts'
import type { PlanEntry } from './thought.ts'

const statuses: ReadonlyMap<string, PlanEntry['status']> = new Map([
  ['pending', 'pending'],
  ['in_progress', 'in_progress'],
  ['completed', 'completed'],
  ['cancelled', 'completed'],
])

const priorities: ReadonlyMap<string, PlanEntry['priority']> = new Map([
  ['high', 'high'],
  ['medium', 'medium'],
  ['low', 'low'],
])

export function planOf(todos: readonly Todo[]): readonly PlanEntry[] {
  return todos.map(({ content, status, priority = 'medium' }) => ({
    content,
    status: statuses.get(status) ?? 'pending',
    priority: priorities.get(priority) ?? 'medium',
  }))
}
