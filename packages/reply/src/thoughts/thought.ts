import type { ThoughtContent } from './decode/content.ts'

/** The kind of a tool, in the terms of the Agent Client Protocol. `other` if its name is unknown. */
export type ToolKind =
  | 'read'
  | 'edit'
  | 'delete'
  | 'move'
  | 'search'
  | 'execute'
  | 'think'
  | 'fetch'
  | 'switch_mode'
  | 'other'

/** One item of the agent's plan. */
export interface PlanEntry {
  /** The task, as the model wrote it. */
  readonly content: string
  /** Its progress. A canceled task is `completed`, and an unknown status is `pending`. */
  readonly status: 'pending' | 'in_progress' | 'completed'
  /** How important it is. An unknown or missing priority is `medium`. */
  readonly priority: 'high' | 'medium' | 'low'
}

/**
 * One event of a run: a thought, a piece of the answer, a tool call or the plan. In order and without times.
 *
 * - `thought` and `message` are pieces of the reasoning and of the answer. Joined, they are `reasoningOf` and `textOf`
 * of the reply. If the server takes a text back, its replacement follows after a blank line. Never empty.
 * - `tool_start` comes when a call's input is complete, or earlier if the agent gives the call a title. Its `id` is
 * unique in the reply. `title` is one line: what the call works on, or else the tool's name.
 * - `tool_update` comes when the status or the content of a started call changes. `content` is all of the call's
 * content so far. Absent if it has none.
 * - `tool_done` comes once for each `tool_start`, at the latest with the end of the reply: a call that was rejected,
 * aborted or lost has `failed`.
 * - `plan` is the whole plan, each time that it changes.
 *
 * A sub-agent is the call of the tool that started it: what happens inside makes no events.
 */
export type Thought =
  | { readonly type: 'thought'; readonly text: string }
  | { readonly type: 'message'; readonly text: string }
  | { readonly type: 'tool_start'; readonly id: string; readonly title: string; readonly kind: ToolKind }
  | {
      readonly type: 'tool_update'
      readonly id: string
      readonly status: 'pending' | 'in_progress' | 'completed' | 'failed'
      readonly content?: readonly ThoughtContent[] | undefined
    }
  | { readonly type: 'tool_done'; readonly id: string; readonly status: 'completed' | 'failed' }
  | { readonly type: 'plan'; readonly entries: readonly PlanEntry[] }

/** The names of the events. */
export type ThoughtType = Thought['type']

/** The event of a given type. */
export type ThoughtOf<T extends ThoughtType> = Extract<Thought, { type: T }>
