import type { AnswerEncoder, Dialect, Frame } from './dialect.ts'
import { contentText, isFields, objectsIn } from './request.ts'

/** OpenAI's chat completions: https://platform.openai.com/docs/api-reference/chat-streaming */
export const chat: Dialect = {
  isAnswerPath: (path) => path.endsWith('/chat/completions'),
  readConversation: (body) => {
    const fields = isFields(body) ? body : {}
    const turns = objectsIn(fields.messages).map((message) => ({
      role: roleOf(message.role),
      text: contentText(message.content),
      calls: objectsIn(message.tool_calls).length > 0,
    }))
    return { turns, hasTools: objectsIn(fields.tools).length > 0 }
  },
  errorBody: (status, message) => ({ error: { message, type: 'scripted', code: status } }),
  createEncoder: () => createEncoder(),
}

/** Returns a message's role. Unknown ones, such as "developer", count as the user's. */
const roleOf = (role: unknown): 'system' | 'user' | 'assistant' | 'tool' =>
  role === 'system' || role === 'assistant' || role === 'tool' ? role : 'user'

/**
 * Returns the encoder of one answer. It counts its calls. Unless the script gives a finish reason, it is
 * `tool_calls` if there are any, else `stop`.
 */
const createEncoder = (): AnswerEncoder => {
  let index = -1
  return {
    begin: () => [deltaFrame({ role: 'assistant', content: '' })],
    text: (chunks) => chunks.map((content) => deltaFrame({ content })),
    // Not OpenAI's own: the field that DeepSeek's API introduced, https://api-docs.deepseek.com/guides/reasoning_model
    reasoning: (chunks) => chunks.map((content) => deltaFrame({ reasoning_content: content })),
    tool: ({ id, name, pieces }) => {
      index++
      const opening = { index, id, type: 'function', function: { name, arguments: '' } }
      return [opening, ...pieces.map((part) => ({ index, function: { arguments: part } }))].map((call) =>
        deltaFrame({ tool_calls: [call] }),
      )
    },
    end: ({ input, output, cached }, reason) => [
      chunkFrame([{ index: 0, delta: {}, finish_reason: reason ?? (index >= 0 ? 'tool_calls' : 'stop') }]),
      chunkFrame([], {
        usage: {
          prompt_tokens: input,
          completion_tokens: output,
          total_tokens: input + output,
          prompt_tokens_details: { cached_tokens: cached },
        },
      }),
      { data: '[DONE]' },
    ],
  }
}

/** A chunk that adds something to the answer. */
const deltaFrame = (content: unknown): Frame => chunkFrame([{ index: 0, delta: content, finish_reason: null }])

/** A chunk of an answer. `otherFields` win over the default ones. */
const chunkFrame = (choices: readonly unknown[], otherFields: object = {}): Frame => ({
  data: { id: 'chatcmpl-scripted', object: 'chat.completion.chunk', created: 0, model: 'm1', choices, ...otherFields },
})
