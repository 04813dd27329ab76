import {
  emptyReply,
  type Message,
  type Part,
  type PermissionAsk,
  type QuestionAsk,
  type Reply,
  type TextPart,
  type ToolPart,
} from '@reply/core'
import type { ToolState } from '@reply/core/source'
import type { UIMessage } from 'ai'
import { createUIProjection, type UIChunk, type UIProjectionOptions } from '../src/index.ts'
import { messageOf } from './recorded.ts'

/** Short builders for replies. */

export function text(id: string, said: string, more: Partial<TextPart> = {}): TextPart {
  return { id, messageID: 'msg_2', raw: undefined, type: 'text', status: 'open', text: said, ...more }
}

export function call(id: string, state: Partial<ToolState> = {}, more: Partial<ToolPart> = {}): ToolPart {
  const isOver = state.status === 'completed' || state.status === 'error'
  const known: ToolState = { status: 'running', input: { command: 'npm test' }, ...state }
  const status = isOver ? 'sealed' : 'open'
  return {
    id,
    messageID: 'msg_2',
    raw: undefined,
    type: 'tool',
    tool: 'bash',
    callID: `call_${id}`,
    status,
    state: known,
    ...more,
  }
}

export function message(id: string, parts: readonly Part[], more: Partial<Message> = {}): Message {
  return { id, parts, raw: undefined, ...more }
}

/** A running reply, with one message of these parts. */
export function replyWith(parts: readonly Part[], more: Partial<Reply> = {}): Reply {
  return {
    ...emptyReply('ses_1'),
    promptIDs: ['msg_1'],
    phase: 'working',
    messages: [message('msg_2', parts)],
    ...more,
  }
}

export function settled(reply: Reply, more: Partial<Reply> = {}): Reply {
  return { ...reply, phase: 'settled', outcome: 'completed', finish: 'stop', ...more }
}

const asking = { sessionID: 'ses_1', directory: undefined, path: ['ses_1'], status: 'pending' } as const

export function permits(partID: string, more: Partial<PermissionAsk> = {}): PermissionAsk {
  const what = { permission: 'bash', patterns: ['npm test'], always: ['git status *'], title: 'npm test', metadata: {} }
  const at = { callID: `call_${partID}`, messageID: 'msg_2', call: { tool: 'bash', input: { command: 'npm test' } } }
  return { type: 'permission', requestID: `per_${partID}`, ...asking, ...what, ...at, ...more }
}

export function asks(partID: string, more: Partial<QuestionAsk> = {}): QuestionAsk {
  const options = ['Red', 'Blue'].map((label) => ({ label, description: '' }))
  const questions = [{ header: 'Colour', question: 'Which one?', options, multiple: false, custom: false }]
  return { type: 'question', requestID: `que_${partID}`, ...asking, callID: `call_${partID}`, questions, ...more }
}

/** What one reader gets for each of the replies. */
export function chunksFor(
  replies: readonly Reply[],
  options: UIProjectionOptions = {},
): readonly (readonly UIChunk[])[] {
  const projection = createUIProjection({ stopAtAsks: false, ...options })
  return replies.map((reply) => projection.next(reply))
}

/** The message of a page that was sent these replies. */
export async function pageOf(
  replies: readonly Reply[],
  options: UIProjectionOptions = {},
  have?: UIMessage,
): Promise<UIMessage> {
  return await messageOf(chunksFor(replies, { ...options, have }).flat(), have)
}

/** The tool parts of a message. */
export function toolsIn({
  parts,
}: UIMessage): readonly Extract<UIMessage['parts'][number], { type: 'dynamic-tool' }>[] {
  return parts.flatMap((part) => (part.type === 'dynamic-tool' ? [part] : []))
}

/** The data parts of one type. */
export function dataIn({ parts }: UIMessage, type: string): readonly unknown[] {
  return parts.flatMap((part) => (part.type === type && 'data' in part ? [part.data] : []))
}
