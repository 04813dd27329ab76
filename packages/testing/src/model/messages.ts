import type { Fields } from '../fields.ts'
import type { AnswerEncoder, Dialect, Frame } from './dialect.ts'
import { contentText, isFields, objectsIn, type Turn } from './request.ts'

/**
 * Anthropic's Messages. Requests: https://docs.anthropic.com/en/api/messages, streams:
 * https://docs.anthropic.com/en/docs/build-with-claude/streaming, errors: https://docs.anthropic.com/en/api/errors
 */
export const messages: Dialect = {
  isAnswerPath: (path) => path.endsWith('/v1/messages'),
  readConversation: (body) => {
    const fields = isFields(body) ? body : {}
    const system: Turn = { role: 'system', text: contentText(fields.system), calls: false }
    return {
      turns: [system, ...objectsIn(fields.messages).flatMap(turnsOf)],
      hasTools: objectsIn(fields.tools).length > 0,
    }
  },
  errorBody: (status, message) => ({ type: 'error', error: { type: errorType(status), message } }),
  createEncoder: ({ number, model }) => createEncoder(`msg_scripted_${number}`, model),
}

/**
 * Returns a message's turns: one for each tool result, then one for the rest, unless that has no text. Tool results are
 * blocks of a user's message, often with texts beside them.
 */
const turnsOf = (message: Fields): readonly Turn[] => {
  const blocks = objectsIn(message.content)
  const results = blocks.filter(({ type }) => type === 'tool_result').map(({ content }) => contentText(content))
  const turn: Turn = {
    role: message.role === 'assistant' ? 'assistant' : 'user',
    text:
      typeof message.content === 'string' ? message.content : contentText(blocks.filter(({ type }) => type === 'text')),
    calls: blocks.some(({ type }) => type === 'tool_use'),
  }
  if (results.length === 0) return [turn]
  return [...results.map((text): Turn => ({ role: 'tool', text, calls: false })), ...(turn.text === '' ? [] : [turn])]
}

const errorTypes: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  529: 'overloaded_error',
}

/** Anthropic's name for an HTTP status. `api_error` for one without its own. */
const errorType = (status: number): string => errorTypes[status] ?? 'api_error'

/**
 * Returns the encoder of one answer. It counts its blocks. Unless the script gives a stop reason, it is `tool_use`
 * after a call, else `end_turn`.
 */
const createEncoder = (id: string, model: string): AnswerEncoder => {
  let index = -1
  let hasCalled = false
  /** Returns the frames of the next content block and its deltas. */
  const blockFrames = (opening: object, deltas: readonly object[]): readonly Frame[] => {
    index++
    return [
      eventFrame('content_block_start', { index, content_block: opening }),
      ...deltas.map((delta) => eventFrame('content_block_delta', { index, delta })),
      eventFrame('content_block_stop', { index }),
    ]
  }
  return {
    begin: ({ input, cached }) => [
      eventFrame('message_start', {
        message: {
          id,
          type: 'message',
          role: 'assistant',
          model,
          content: [],
          stop_reason: null,
          stop_sequence: null,
          usage: {
            input_tokens: input - cached,
            cache_creation_input_tokens: 0,
            cache_read_input_tokens: cached,
            output_tokens: 1,
          },
        },
      }),
    ],
    text: (chunks) =>
      blockFrames(
        { type: 'text', text: '' },
        chunks.map((text) => ({ type: 'text_delta', text })),
      ),
    reasoning: (chunks) =>
      blockFrames({ type: 'thinking', thinking: '', signature: '' }, [
        ...chunks.map((thinking) => ({ type: 'thinking_delta', thinking })),
        { type: 'signature_delta', signature: 'scripted' },
      ]),
    tool: ({ id, name, pieces }) => {
      hasCalled = true
      return blockFrames(
        { type: 'tool_use', id, name, input: {} },
        pieces.map((partial_json) => ({ type: 'input_json_delta', partial_json })),
      )
    },
    end: ({ output }, reason) => [
      eventFrame('message_delta', {
        delta: { stop_reason: reason ?? (hasCalled ? 'tool_use' : 'end_turn'), stop_sequence: null },
        usage: { output_tokens: output },
      }),
      eventFrame('message_stop', {}),
    ],
  }
}

/** An event, whose name is also in its data. */
const eventFrame = (type: string, fields: object): Frame => ({ event: type, data: { type, ...fields } })
