import type { LocalEnding } from '@reply/core/source'
import { type Call, outputOf, terminalsOf, textIn, withTerminals } from '../call.ts'
import { endingOf, failureOf, usageOf } from '../ending.ts'
import type { DecodedState, DecodedUpdate } from '../update.ts'
import { mergedCall } from './call.ts'
import { type StateUpdate, type ToolCallUpdate, type Update, type UpdateKind, updates } from './schema.ts'
import { commandsOf, readConfig } from './session.ts'
import { type AgentTerminal, grownTerminal, updatedTerminal } from './terminal.ts'
import { appended, replaced, type Texts, type WrittenText, withoutOpenText } from './texts.ts'

/** The state of a session before an update. */
export interface SessionState {
  /** The calls of the run. */
  readonly calls: ReadonlyMap<string, Call>
  /** The session's cost at the start of the run, in US dollars. */
  readonly costBefore: number
  /** The session's cost so far, in US dollars. */
  readonly cost: number
  readonly terminals: ReadonlyMap<string, AgentTerminal>
  readonly texts: Texts
}

/** A decoded update, with the parts of the session's state that it replaces. */
export interface DecodedV2 extends DecodedUpdate {
  /** More calls that it changes, because they show a terminal. */
  readonly calls?: readonly Call[] | undefined
  readonly terminal?: AgentTerminal | undefined
  readonly texts?: Texts | undefined
}

const nothing: DecodedV2 = {}

type Decoders = { readonly [K in UpdateKind]: (update: Update<K>, known: SessionState) => DecodedV2 }

/** A decoder for each kind of update. Pure. */
const decoders: Decoders = {
  user_message: ({ messageId: messageID, content }) => ({ prompt: { messageID, text: textsIn(content) } }),
  user_message_chunk: ({ messageId: messageID, content }) => ({ prompt: { messageID, text: textsIn([content]) } }),
  agent_message: (update, known) => replacedText('text', update, known),
  agent_message_chunk: ({ messageId, content }, { texts }) => written(appended(texts, 'text', messageId, content)),
  agent_thought: (update, known) => replacedText('reasoning', update, known),
  agent_thought_chunk: ({ messageId, content }, { texts }) => written(appended(texts, 'reasoning', messageId, content)),
  state_update: (update, known) => ({ state: stateOf(update, known) }),
  tool_call_update: toolCallUpdate,
  tool_call_content_chunk: ({ toolCallId, content }, known) => {
    const before = known.calls.get(toolCallId)?.content ?? []
    return toolCallUpdate({ toolCallId, content: [...before, content] }, known)
  },
  terminal_update: (update, known) =>
    changedTerminal(updatedTerminal(known.terminals.get(update.terminalId), update), known),
  terminal_output_chunk: ({ terminalId, data }, known) => {
    const terminal = updatedTerminal(known.terminals.get(terminalId), { terminalId })
    return changedTerminal(grownTerminal(terminal, data), known)
  },
  // Only a plan of items is a checklist. An agent asks before it acts on another plan, and shows it there.
  plan_update: ({ plan }) => {
    const todos = plan.entries?.map(({ content, status, priority }) => ({
      content,
      status,
      priority: priority ?? undefined,
    }))
    return todos ? { outputs: [{ type: 'todos', todos }] } : nothing
  },
  // The checklist stays, as a record of what was done.
  plan_removed: () => nothing,
  available_commands_update: ({ availableCommands }) => ({ session: { commands: commandsOf(availableCommands) } }),
  config_option_update: ({ configOptions }) => ({ session: { config: readConfig(configOptions) } }),
  session_info_update: ({ title }) => (title ? { title } : nothing),
  usage_update: ({ used, size, cost }, { costBefore }) => {
    const total = cost?.currency === 'USD' ? cost.amount : undefined
    const tokens = { input: used, output: 0, reasoning: 0, cacheRead: 0, cacheWrite: 0 }
    return {
      cost: total,
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
    // Only its summary has changed.
    if (status === undefined || status === null) return nothing
    const state = status === 'in_progress' ? 'started' : status === 'completed' ? 'done' : 'failed'
    return { outputs: [{ type: 'compaction', state, auto: true }] }
  },
  // The summary replaces the history. It is not part of the answer.
  compaction_summary_chunk: () => nothing,
  subagent_update: ({ sessionId: sessionID, title, description, state, capabilities }, known) => {
    const told = state ? stateOf(state, known) : undefined
    return {
      subagent: {
        sessionID,
        title: title ?? description ?? undefined,
        state: told?.type === 'idle' ? told.ending : told?.type,
        isCancelable: capabilities === undefined ? undefined : Boolean(capabilities?.cancel),
      },
    }
  },
  session_message: ({ messageId: id, recipientSessionId: sessionID, content }) =>
    sessionID ? { message: { id, sessionID, text: textsIn(content) } } : nothing,
  // Agents send their messages whole.
  session_message_chunk: () => nothing,
}

/** Returns the texts of a message, one below the other. Other contents are left out. */
function textsIn(content: Update<'user_message'>['content']): string {
  return (content ?? []).flatMap((block) => textIn(block) ?? []).join('\n')
}

/** Replaces the text of a message. Nothing changes if the update has no content, and null clears the text. */
function replacedText(
  kind: 'text' | 'reasoning',
  { messageId, content }: Update<'agent_message'>,
  { texts }: SessionState,
): DecodedV2 {
  return content === undefined ? nothing : written(replaced(texts, kind, messageId, content ?? []))
}

/** Returns the decoded update of a text. */
function written({ outputs, texts }: WrittenText): DecodedV2 {
  return { outputs, texts }
}

/** Returns the call after the update, with its part. A new call ends the open text. */
function toolCallUpdate(update: ToolCallUpdate, { calls, terminals, texts }: SessionState): DecodedV2 {
  const known = calls.get(update.toolCallId)
  const call = withTerminals(mergedCall(known, update), (id) => terminals.get(id)?.text)
  return {
    call,
    outputs: [outputOf(call)],
    ...(!known && { texts: withoutOpenText(texts) }),
  }
}

/**
 * Returns the terminal, and the calls that show it, also those that have ended: a command in the background writes after its
 * call. Only the terminal if its text is the same as before.
 */
function changedTerminal(terminal: AgentTerminal, { calls, terminals }: SessionState): DecodedV2 {
  const { terminalID, text } = terminal
  if (text === (terminals.get(terminalID)?.text ?? '')) return { terminal }
  const showing = [...calls.values()].filter((call) => terminalsOf(call).includes(terminalID))
  const changed = showing.map((call) => withTerminals(call, (id) => (id === terminalID ? text : undefined)))
  return { terminal, calls: changed, outputs: changed.map((call) => outputOf(call)) }
}

/**
 * Returns the state of the work. A session that waits for a person is running. An end with an error, or for that reason, is a
 * failure. One without a reason counts as the regular end. Undefined for a state that is unknown.
 */
function stateOf(
  { state, stopReason, usage, error }: StateUpdate,
  { cost, costBefore }: SessionState,
): DecodedState | undefined {
  if (state === 'running' || state === 'requires_action') return { type: 'running' }
  if (state !== 'idle') return undefined
  const ending = error || stopReason === 'error' ? failed(error) : endingOf(stopReason ?? 'end_turn')
  return { type: 'idle', ending, usage: usageOf(usage, Math.max(0, cost - costBefore)) }
}

/** Returns a failure with the agent's error, or one that says that it gave none. */
function failed(error: StateUpdate['error']): LocalEnding {
  const message = 'The agent gave no reason.'
  return { type: 'failed', error: error ? failureOf(error) : { name: 'error', message, raw: undefined } }
}

/** Decodes one session update. Only `unknownKind` for a kind that protocol 2 doesn't have. Undefined if it is malformed. */
export function decodeUpdate(update: { readonly sessionUpdate: string }, known: SessionState): DecodedV2 | undefined {
  const { sessionUpdate: kind } = update
  return isKind(kind) ? decodeAs(kind, update, known) : { unknownKind: kind }
}

/** Decodes an update of this kind. Undefined if it is malformed. */
function decodeAs<K extends UpdateKind>(kind: K, update: unknown, known: SessionState): DecodedV2 | undefined {
  const { data } = updates[kind].safeParse(update)
  return data === undefined ? undefined : decoders[kind](data as Update<K>, known)
}

/** Whether version 2 of the protocol has this kind. */
function isKind(kind: string): kind is UpdateKind {
  return Object.hasOwn(updates, kind)
}
