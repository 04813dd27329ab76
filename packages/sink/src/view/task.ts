import { isTodoTool, ownTodosOf, type Reply, type ToolPart, toolsOf } from '@reply/core'
import { toolFacts } from '@reply/core/show'
import type { Task } from '../port/port.ts'
import type { Texts } from '../texts.ts'
import { oneLine } from './format.ts'
import { endText, titleOf } from './tool.ts'
import type { ViewOptions } from './view.ts'

/** The content of a stream besides its text. */
export interface Flow {
  /** Tasks whose current status was not sent yet. */
  readonly tasks: readonly Task[]
  readonly plan?: string | undefined
}

const statuses = { pending: 'pending', running: 'running', completed: 'done', error: 'failed' } as const

/**
 * Returns what a stream shows beside its text: each new status of a started tool call as a task, and the checklist's progress.
 * Without tools for todos and questions, and empty with `quiet`.
 */
export function flowOf(reply: Reply, { shown, policy, texts }: ViewOptions): Flow {
  if (policy.verbosity === 'quiet') return { tasks: [] }
  const tools = toolsOf(reply).filter(({ tool }) => !isTodoTool(tool) && tool !== 'question')
  const tasks = tools
    .map((part) => taskOf(part, reply, texts))
    .filter((task) => task.status !== 'pending' && !shown.reported.has(taskKey(task)))
  const todos = ownTodosOf(reply)
  if (todos.length === 0) return { tasks }
  const done = todos.filter(({ status }) => status === 'completed').length
  const now = todos.find(({ status }) => status === 'in_progress')
  const plan = [`${texts.todos} ${done}/${todos.length}`, now && oneLine(now.content, 100)].filter(Boolean).join(': ')
  return { tasks, plan }
}

/** Returns the identity and the status of a tool call. */
export function taskStatusOf({ id, state }: ToolPart): Pick<Task, 'id' | 'status'> {
  return { id, status: statuses[state.status] }
}

/** Returns the task of a tool call, with the reason if it failed. */
function taskOf(part: ToolPart, reply: Reply, texts: Texts): Task {
  const task = { ...taskStatusOf(part), title: titleOf(part, reply) }
  const { end } = toolFacts(part, reply)
  const reason = end && endText(end, texts)
  return reason ? { ...task, reason } : task
}

/** Returns the key of a task in `Ledger.reported`. */
export function taskKey({ id, status }: Pick<Task, 'id' | 'status'>): string {
  return `task:${id}:${status}`
}
