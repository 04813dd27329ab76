import * as z from 'zod'
import type { Input } from './event.ts'

/** Claude Code's tools, by OpenCode's names, which views know. */
const names: Readonly<Record<string, string>> = {
  Bash: 'bash',
  Read: 'read',
  Write: 'write',
  Edit: 'edit',
  MultiEdit: 'multiedit',
  Glob: 'glob',
  Grep: 'grep',
  WebFetch: 'webfetch',
  WebSearch: 'websearch',
  TodoWrite: 'todowrite',
  // The checklist of newer versions.
  TaskCreate: 'todowrite',
  TaskUpdate: 'todowrite',
  TaskList: 'todoread',
  TaskGet: 'todoread',
  AskUserQuestion: 'question',
  Agent: 'task',
  Task: 'task',
}

const edited = z.object({ structuredPatch: z.array(z.unknown()), type: z.string().optional() })

/**
 * Returns what the own result of an edit or a new file tells of the lines: the hunks, and whether it made the file. Undefined
 * for the result of other tools.
 */
export function editMetadata(value: unknown): Input | undefined {
  return edited.safeParse(value).data
}

const fields: Readonly<Record<string, string>> = {
  file_path: 'filePath',
  old_string: 'oldString',
  new_string: 'newString',
  replace_all: 'replaceAll',
}

/** Returns the tool's name in replies. A tool that isn't listed keeps its name. */
export function toolName(tool: string): string {
  return (Object.hasOwn(names, tool) && names[tool]) || tool
}

/**
 * Returns the input with its fields renamed as replies name them. A field keeps its name if the input has one with the new
 * name too, so that all are shown. The same input for a tool that isn't listed.
 */
export function toolInput(tool: string, input: Input): Input {
  if (!Object.hasOwn(names, tool)) return input
  const renamed = (name: string): string => {
    const to = Object.hasOwn(fields, name) ? fields[name] : undefined
    return to === undefined || Object.hasOwn(input, to) ? name : to
  }
  return Object.fromEntries(Object.entries(input).map(([name, value]) => [renamed(name), value]))
}

const asked = z.object({
  questions: z.array(
    z.object({
      question: z.string(),
      header: z.string().default(''),
      multiSelect: z.boolean().default(false),
      options: z.array(z.object({ label: z.string(), description: z.string().default('') })).default([]),
    }),
  ),
})

/** Returns the questions in the input of AskUserQuestion. Empty if it has another shape. */
export function questionsIn(input: unknown): z.infer<typeof asked>['questions'] {
  return asked.safeParse(input).data?.questions ?? []
}

/** A change of a checklist. */
export type TodoChange =
  /** TodoWrite replaces the list of the agent that calls it. */
  | { readonly type: 'own'; readonly todos: readonly Omit<TodoItem, 'id'>[] }
  /** The full task list, which the session shares with its sub-agents. */
  | { readonly type: 'all'; readonly tasks: readonly TodoItem[] }
  /** A new task, or the changed fields of one. `deleted` is also a status. */
  | { readonly type: 'task'; readonly id: string; readonly content?: string | undefined; readonly status?: string }

export interface TodoItem {
  readonly id: string
  readonly content: string
  readonly status: string
}

/** A successful call. `value` is the tool's own result. Results of sub-agents only have text. */
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
 * Returns the checklist change of a successful call. The shapes are those of `sdk-tools.d.ts` in `@anthropic-ai/claude-agent-sdk`.
 * The texts were recorded with 2.1.197. Undefined for other tools, and for calls that changed nothing.
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
      // An unknown task is not an error: the text is "Task not found".
      const found = text.startsWith('Updated task #') ? updated.safeParse(input).data : undefined
      if (!found) return undefined
      const changed = found.status === undefined ? {} : { status: found.status }
      return { type: 'task', id: found.taskId, content: found.subject, ...changed }
    }
    default:
      return undefined
  }
}
