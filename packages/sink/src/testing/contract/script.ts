import {
  type Ask,
  emptyReply,
  type PermissionAsk,
  type Question,
  type QuestionAsk,
  type Reply,
  type TextPart,
} from '@reply/core'

export interface Scripted {
  readonly isSettled?: boolean
  readonly sessionID?: string
  readonly ask?: Ask
}

/** Returns the states of a growing reply: empty, half of its text, all of it, settled. */
export function statesOf(text: string, sessionID = 'ses_contract'): readonly Reply[] {
  const half = text.slice(0, text.length >> 1)
  return [
    replyOf('', { sessionID }),
    replyOf(half, { sessionID }),
    replyOf(text, { sessionID }),
    replyOf(text, { sessionID, isSettled: true }),
  ]
}

/** Returns a reply with this text. It is blocked while its ask is pending. */
export function replyOf(text: string, { isSettled = false, sessionID = 'ses_contract', ask }: Scripted = {}): Reply {
  const status = isSettled ? 'sealed' : 'open'
  const part: TextPart = { id: 'prt_1', messageID: 'msg_2', type: 'text', status, text, raw: undefined }
  const ends = isSettled ? { outcome: 'completed' as const, finish: 'stop' } : {}
  return {
    ...emptyReply(sessionID),
    promptIDs: ['msg_1'],
    phase: isSettled ? 'settled' : ask?.status === 'pending' ? 'blocked' : 'working',
    messages: [{ id: 'msg_2', parts: text === '' ? [] : [part], raw: undefined }],
    asks: ask ? [ask] : [],
    ...ends,
  }
}

const question: Question = {
  header: 'Colour',
  question: 'Which colour?',
  options: [
    { label: 'Red', description: 'like fire' },
    { label: 'Blue', description: '' },
  ],
  multiple: false,
  custom: true,
}

/** Returns a question with the options "Red" and "Blue". */
export function askOf(more: Partial<Pick<QuestionAsk, 'status' | 'answers'>>): QuestionAsk {
  const place = { requestID: 'que_1', sessionID: 'ses_contract', directory: undefined, path: ['ses_contract'] }
  return { type: 'question', ...place, status: 'pending', askedAt: 1000, questions: [question], ...more }
}

export interface Permitting
  extends Partial<Pick<PermissionAsk, 'status' | 'reply' | 'metadata' | 'requestID' | 'sessionID'>> {
  readonly tool: string
  readonly input: Readonly<Record<string, unknown>>
}

/** Returns a pending permission for this tool call, of the session `ses_contract` unless it names another. */
export function permissionOf({ tool, input, sessionID = 'ses_contract', ...more }: Permitting): PermissionAsk {
  return {
    type: 'permission',
    requestID: 'per_1',
    sessionID,
    path: [sessionID],
    directory: undefined,
    status: 'pending',
    permission: tool,
    patterns: ['a pattern'],
    always: ['always *'],
    title: `${tool}: a title`,
    metadata: {},
    call: { tool, input },
    ...more,
  }
}

/** Returns a text of at least that length in which every sentence is different. */
export function numberedSentences(length: number): string {
  let text = ''
  for (let count = 1; text.length < length; count++) text += `This is sentence ${count} of a long text. `
  return text.trim()
}
