import * as z from 'zod'

/** What a call of Claude Code changed in a checklist. */
export type TodoChange =
  /** TodoWrite has a list of the agent that calls it, and says it whole. */
  | { readonly type: 'own'; readonly todos: readonly Omit<TodoItem, 'id'>[] }
  /** The tasks are one list for the session and its sub-agents. */
  | { readonly type: 'all'; readonly tasks: readonly TodoItem[] }
  /** A task that is new, or fields of it that changed. `deleted` is a status, too. */
  | { readonly type: 'task'; readonly id: string; readonly content?: string | undefined; readonly status?: string }

export interface TodoItem {
  readonly id: string
  readonly content: string
  readonly status: string
}

/** A call that ended well. `value` is the tool's own result: sub-agents' results come as text alone. */
interface Ended {
  readonly tool: string
  readonly input: unknown
  readonly text: string
  readonly value: unknown
}

const status = z.string()
const todos = z.object({ todos: z.array(z.object({ content: z.string(), status })) })
const task = z.object({ id: z.string(), subject: z.string(), status })
const created = z.object({ subject: z.string() })
const taskList = z.object({ tasks: z.array(task) })
const updated = z.object({ taskId: z.string(), subject: z.string().optional(), status: status.optional() })

/**
 * The shapes are those of `sdk-tools.d.ts` in `@anthropic-ai/claude-agent-sdk`; the texts were recorded with 2.1.197.
 * Undefined for other tools, and for calls that changed nothing.
 */
export function todoChangeIn({ tool, input, text, value }: Ended): TodoChange | undefined {
  switch (tool) {
    case 'TodoWrite': {
      const found = todos.safeParse(input).data
      return found && { type: 'own', todos: found.todos }
    }
    case 'TaskList': {
      const found = taskList.safeParse(value).data
      return found && { type: 'all', tasks: found.tasks.map(({ subject, ...rest }) => ({ ...rest, content: subject })) }
    }
    case 'TaskCreate': {
      const id = /^Task #(\S+) created successfully/.exec(text)?.[1]
      const found = created.safeParse(input).data
      return found && id !== undefined ? { type: 'task', id, content: found.subject, status: 'pending' } : undefined
    }
    case 'TaskUpdate': {
      // A task that is not there makes no error: "Task not found".
      const found = text.startsWith('Updated task #') ? updated.safeParse(input).data : undefined
      if (!found) return undefined
      const changed = found.status === undefined ? {} : { status: found.status }
      return { type: 'task', id: found.taskId, content: found.subject, ...changed }
    }
    default:
      return undefined
  }
}
