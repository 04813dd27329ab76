import {
  emptyReply,
  type Message,
  type Part,
  type PermissionAsk,
  type Reply,
  type TextPart,
  type ToolPart,
} from '@reply/core'

/** Short builders for replies. */

export function text(id: string, said: string, more: Partial<TextPart> = {}): TextPart {
  return { id, messageID: 'msg_2', raw: { id, said }, type: 'text', status: 'open', text: said, ...more }
}

export function call(id: string, state: Partial<ToolPart['state']> = {}): ToolPart {
  const known = { status: 'running', input: { command: 'npm test' }, ...state } as const
  return {
    id,
    messageID: 'msg_2',
    raw: {},
    type: 'tool',
    tool: 'bash',
    callID: `call_${id}`,
    status: 'open',
    state: known,
  }
}

/** A running reply, with one message of these parts. */
export function replyWith(parts: readonly Part[], more: Partial<Reply> = {}): Reply {
  const message: Message = { id: 'msg_2', parts, raw: {} }
  return { ...emptyReply('ses_1'), promptIDs: ['msg_1'], phase: 'working', messages: [message], ...more }
}

export function settled(reply: Reply, more: Partial<Reply> = {}): Reply {
  return { ...reply, phase: 'settled', outcome: 'completed', finish: 'stop', ...more }
}

/** A pending permission for `npm test`. */
export function permits(id: string, more: Partial<PermissionAsk> = {}): PermissionAsk {
  return {
    type: 'permission',
    requestID: `per_${id}`,
    sessionID: 'ses_1',
    directory: undefined,
    path: ['ses_1'],
    status: 'pending',
    permission: 'bash',
    patterns: ['npm test'],
    always: ['npm test'],
    title: 'npm test',
    metadata: {},
    callID: `call_${id}`,
    messageID: 'msg_2',
    call: { tool: 'bash', input: { command: 'npm test' } },
    ...more,
  }
}
