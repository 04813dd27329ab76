import type { LocalOutput } from '@reply/core/source'
import { type Call, fileOf, isFields, mergedCall, outputOf, textIn, withTerminals } from '../call.ts'
import { endingOf, failureOf } from '../ending.ts'
import { notification, todoInput } from '../schema.ts'
import { type AcpConfigOption, type AcpSession, toConfigOption } from '../session.ts'
import type { DecodedSubagent, DecodedUpdate } from '../update.ts'
import { configOption, sessionResponse, type Update, type UpdateKind, updates } from './schema.ts'

/** The state of a run before an update. */
export interface RunState {
  readonly calls: ReadonlyMap<string, Call>
  /** The session's cost at the start of the run, in US dollars. */
  readonly costBefore: number
  /** The text of a terminal. Undefined if it is not open here. */
  readonly textOf: (terminalID: string) => string | undefined
}

const nothing: DecodedUpdate = {}

const notices: readonly string[] = ['background_task_completed', 'background_notification']

/** A decoder for each kind of update. Pure. */
const decoders: { readonly [K in UpdateKind]: (update: Update<K>, known: RunState) => DecodedUpdate } = {
  // A prompt of a loaded session. Some agents also repeat the prompt of a run.
  user_message_chunk: ({ content, messageId }) => ({
    prompt: { messageID: messageId ?? '', text: textIn(content) ?? '' },
  }),
  agent_message_chunk: ({ content, messageId, _meta }) => {
    const messageID = messageId ?? undefined
    const delta = textIn(content)
    // Qwen Code's notice that a command or a sub-agent in the background has ended, for its model and for people.
    if (typeof _meta?.source === 'string' && notices.includes(_meta.source)) return { reason: delta }
    if (delta !== undefined) return { outputs: [{ type: 'text', delta, messageID, raw: content }] }
    const file = fileOf(content)
    return file ? { outputs: [{ type: 'file', ...file, messageID, raw: content }] } : nothing
  },
  // OpenCode sends the part's id as a thought's `messageId`, so it is ignored.
  agent_thought_chunk: ({ content }) => {
    const delta = textIn(content)
    return delta === undefined ? nothing : { outputs: [{ type: 'reasoning', delta, raw: content }] }
  },
  tool_call: decodeToolCall,
  tool_call_update: decodeToolCall,
  plan: ({ entries }) => ({ outputs: [todosIn(entries)] }),
  plan_update: ({ plan }, { calls }) => {
    const { planId: messageID } = plan
    switch (plan.type) {
      case 'items':
        return { outputs: [todosIn(plan.entries)] }
      case 'markdown': {
        // The plan of a call is shown there.
        const isShown = [...calls.values()].some(({ rawInput }) => isFields(rawInput) && rawInput.plan === plan.content)
        if (isShown) return nothing
        return { outputs: [{ type: 'text', replace: plan.content, partID: 'plan', messageID, raw: plan }] }
      }
      case 'file':
        return { outputs: [{ type: 'file', mime: 'text/markdown', url: plan.uri, messageID, raw: plan }] }
      default:
        return plan satisfies never
    }
  },
  subagent_update: ({ sessionId: sessionID, title, description, state, capabilities }) => ({
    subagent: {
      sessionID,
      title: title ?? description ?? undefined,
      state: state ? stateOf(state) : undefined,
      isCancelable: capabilities === undefined ? undefined : Boolean(capabilities?.cancel),
    },
  }),
  session_message: ({ messageId: id, recipientSessionId: sessionID, content }) => {
    const text = (content ?? []).flatMap((one) => textIn(one) ?? []).join('\n')
    return sessionID ? { message: { id, sessionID, text } } : nothing
  },
  available_commands_update: ({ availableCommands }) => ({
    session: {
      commands: availableCommands.map(({ name, description }) => ({ name, description: description ?? undefined })),
    },
  }),
  current_mode_update: ({ currentModeId }) => ({ session: { modeID: currentModeId } }),
  config_option_update: ({ configOptions }) => ({ session: { config: readConfig(configOptions) } }),
  session_info_update: ({ title }) => (title ? { title } : nothing),
  usage_update: ({ used, size, cost, _meta }, { costBefore }) => {
    const total = cost?.currency === 'USD' ? cost.amount : undefined
    const tokens = { input: used, output: 0, reasoning: 0, cacheRead: 0, cacheWrite: 0 }
    return {
      cost: total,
      // Claude's agent sends it at the end of each turn, also of one that it began by itself (claude-agent-acp 0.92 to 0.101).
      endsTurn: _meta?.['_claude/origin'] !== undefined,
      outputs: [
        { type: 'context-limit', contextLimit: size },
        { type: 'usage', stepID: 'turn', tokens, cost: Math.max(0, (total ?? costBefore) - costBefore) },
      ],
    }
  },
  notice: ({ severity, title, description }) => ({
    notice: { severity, title, description: description ?? undefined },
  }),
  compaction_update: ({ status }) => {
    const state = status === 'in_progress' ? 'started' : status === 'completed' ? 'done' : 'failed'
    return { outputs: [{ type: 'compaction', state, auto: true }] }
  },
  // The summary replaces the history. It is not part of the answer.
  compaction_summary_chunk: () => nothing,
}

/** Returns a plan's entries as todos. */
function todosIn(entries: Update<'plan'>['entries']): LocalOutput {
  const todos = entries.map(({ content, status, priority }) => ({ content, status, priority: priority ?? undefined }))
  return { type: 'todos', todos }
}

/**
 * Returns the state of a sub-agent. One that waits for a person is running. An end without a reason counts as its regular
 * end. Undefined for a state that is unknown.
 */
function stateOf({
  state,
  stopReason,
  error,
}: NonNullable<Update<'subagent_update'>['state']>): DecodedSubagent['state'] {
  if (state === 'running' || state === 'requires_action') return 'running'
  if (state !== 'idle') return undefined
  if (stopReason !== 'error') return endingOf(stopReason ?? 'end_turn')
  return { type: 'failed', error: failureOf(error ?? { code: -32_603, message: 'The sub-agent failed.' }) }
}

/** Returns the call after the update, with its part, and the todos of OpenCode's tool. */
function decodeToolCall(update: Update<'tool_call_update'>, { calls, textOf }: RunState): DecodedUpdate {
  const known = calls.get(update.toolCallId)
  const call = withTerminals(mergedCall(known, update), textOf)
  return { call, outputs: [outputOf(call), ...todosOf(call)] }
}

/**
 * Returns the todos in the input of OpenCode's `todowrite`, which sends no plan. Empty for other tools and a malformed input.
 */
function todosOf({ tool, rawInput }: Call): readonly LocalOutput[] {
  const { data } = tool === 'todowrite' ? todoInput.safeParse(rawInput) : { data: undefined }
  return data ? [{ type: 'todos', todos: data.todos }] : []
}

/**
 * Whether an update of an idle session means that the agent goes on by itself: a text or thought that isn't empty, or a new
 * call. Notices, late updates of earlier calls, and those of the session mean nothing.
 */
export function beginsTurn(update: { readonly sessionUpdate: string }, { calls }: Pick<RunState, 'calls'>): boolean {
  switch (update.sessionUpdate) {
    case 'agent_message_chunk':
    case 'agent_thought_chunk': {
      const { data } = updates.agent_message_chunk.safeParse(update)
      if (!data || notices.includes(String(data._meta?.source))) return false
      return textIn(data.content) !== ''
    }
    case 'tool_call': {
      const { data } = updates.tool_call.safeParse(update)
      return data !== undefined && !calls.has(data.toolCallId)
    }
    default:
      return false
  }
}

/** Decodes one session update. Empty for a kind that protocol 1 doesn't have. Undefined if it is malformed. */
export function decodeUpdate(update: { readonly sessionUpdate: string }, known: RunState): DecodedUpdate | undefined {
  const { sessionUpdate: kind } = update
  return isKind(kind) ? decodeAs(kind, update, known) : nothing
}

/** Decodes an update of this kind. Undefined if it is malformed. */
function decodeAs<K extends UpdateKind>(kind: K, update: unknown, known: RunState): DecodedUpdate | undefined {
  const { data } = updates[kind].safeParse(update)
  return data === undefined ? undefined : decoders[kind](data as Update<K>, known)
}

/** Whether version 1 of the protocol has this kind. */
function isKind(kind: string): kind is UpdateKind {
  return Object.hasOwn(updates, kind)
}

/** The session and the update of a notification. Undefined if it is malformed. */
export function decodeNotification(params: unknown) {
  return notification.safeParse(params).data
}

/** The modes and settings in the response to a new or loaded session. */
export function readSession(response: unknown): Partial<AcpSession> {
  const { modes, configOptions } = sessionResponse.safeParse(response).data ?? {}
  return {
    ...(modes && {
      modeID: modes.currentModeId,
      modes: modes.availableModes.map(({ id, name, description }) => ({
        id,
        name,
        description: description ?? undefined,
      })),
    }),
    ...(configOptions && { config: readConfig(configOptions) }),
  }
}

/** Settings of a session. Those of types that protocol 1 doesn't have are left out. */
export function readConfig(options: readonly unknown[]): readonly AcpConfigOption[] {
  return options.flatMap((option): AcpConfigOption[] => {
    const { data } = configOption.safeParse(option)
    if (!data || (data.type !== 'select' && data.type !== 'boolean')) return []
    return [toConfigOption(data.id, data)]
  })
}
