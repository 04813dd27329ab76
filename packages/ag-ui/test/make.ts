import { emptyReply, type Message, type Part, type PermissionAsk, type QuestionAsk, type Reply } from '@reply/core'

/** A reply of a session `ses`, working unless `fields` says otherwise. */
export function replyOf(messages: readonly Message[], fields: Partial<Reply> = {}): Reply {
  return { ...emptyReply('ses'), phase: 'working', messages, ...fields }
}

export function settled(reply: Reply, outcome: Reply['outcome'] = 'completed'): Reply {
  return { ...reply, phase: 'settled', outcome }
}

export function messageOf(id: string, parts: readonly Part[], fields: Partial<Message> = {}): Message {
  return { id, parts, raw: undefined, ...fields }
}

/** An open text. */
export function textPart(id: string, text: string, status: Part['status'] = 'open'): Part {
  return { type: 'text', id, messageID: 'm', status, raw: undefined, text }
}

type ToolState = Extract<Part, { type: 'tool' }>['state']

/** A call whose call id is `call_` and the part's id. */
export function callPart(id: string, state: Partial<ToolState>, tool = 'bash'): Part {
  const isOver = state.status === 'completed' || state.status === 'error'
  return {
    type: 'tool',
    id,
    messageID: 'm',
    status: isOver ? 'sealed' : 'open',
    raw: undefined,
    tool,
    callID: `call_${id}`,
    state: { status: 'running', input: {}, ...state },
  }
}

const askFields = { sessionID: 'ses', directory: undefined, path: ['ses'], status: 'pending' } as const

/** A permission for the shell command of the call with the part's id. */
export function permissionOf(requestID: string, command: string, fields: Partial<PermissionAsk> = {}): PermissionAsk {
  return {
    ...askFields,
    type: 'permission',
    requestID,
    permission: 'bash',
    patterns: [command],
    always: ['git status *'],
    title: 'bash',
    metadata: {},
    callID: 'call_c1',
    call: { tool: 'bash', input: { command } },
    ...fields,
  }
}

export function questionOf(requestID: string, fields: Partial<QuestionAsk> = {}): QuestionAsk {
  const options = ['red', 'blue'].map((label) => ({ label, description: '' }))
  return {
    ...askFields,
    type: 'question',
    requestID,
    questions: [
      { header: 'Color', question: 'Which color?', options, multiple: false, custom: false },
      { header: 'Sizes', question: 'Which sizes?', options, multiple: true, custom: true },
    ],
    ...fields,
  }
}
