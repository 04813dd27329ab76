import type { Fields } from '../fields.ts'
import type { AnswerEncoder, Dialect, Frame } from './dialect.ts'
import { contentText, isFields, objectsIn, type Turn } from './request.ts'

/**
 * OpenAI's Responses. Requests: https://platform.openai.com/docs/api-reference/responses/create, streams:
 * https://platform.openai.com/docs/api-reference/responses-streaming
 */
export const responses: Dialect = {
  isAnswerPath: (path) => path.endsWith('/responses'),
  readConversation: (body) => {
    const fields = isFields(body) ? body : {}
    const system: Turn = { role: 'system', text: contentText(fields.instructions), calls: false }
    const given = typeof fields.input === 'string' ? [{ role: 'user', content: fields.input }] : objectsIn(fields.input)
    return { turns: [system, ...given.flatMap(turnsOf)], hasTools: objectsIn(fields.tools).length > 0 }
  },
  errorBody: (status, message) => ({ error: { message, type: 'scripted', code: String(status) } }),
  createEncoder: ({ number, model }) => createEncoder(`resp_scripted_${number}`, model),
}

/** Whether an item is a call of a tool. */
const isCall = ({ type }: Fields): boolean => typeof type === 'string' && /_call$/.test(type)

/**
 * Returns an item's turn. Each call is an item of its own: those of one answer follow each other and count as one
 * round, so only the first has a turn. None for an unknown item.
 */
const turnsOf = (item: Fields, index: number, items: readonly Fields[]): readonly Turn[] => {
  if (isCall(item)) {
    const before = items[index - 1]
    return before !== undefined && isCall(before) ? [] : [{ role: 'assistant', text: '', calls: true }]
  }
  if (typeof item.type === 'string' && /_call_output$/.test(item.type))
    return [{ role: 'tool', text: contentText(item.output), calls: false }]
  if (item.role === 'system' || item.role === 'developer')
    return [{ role: 'system', text: contentText(item.content), calls: false }]
  if (item.role !== 'user' && item.role !== 'assistant') return []
  return [{ role: item.role, text: contentText(item.content), calls: false }]
}

/**
 * Returns the encoder of one answer. It collects its items for the response at its end. The response is incomplete
 * if the script gives a reason, else completed.
 */
const createEncoder = (id: string, model: string): AnswerEncoder => {
  let sequence = 0
  const output: object[] = []
  /** A frame with the next sequence number. */
  const eventFrame = (type: string, fields: object): Frame => ({
    event: type,
    data: { type, sequence_number: sequence++, ...fields },
  })
  /**
   * Returns the frames of an output item: that it was added, with the fields of `opening` in place of its own, those of
   * `between`, and that it is done. Adds the item to the response.
   */
  const itemFrames = (
    whole: Readonly<{ id: string; [field: string]: unknown }>,
    opening: object,
    between: (place: Place) => readonly Frame[],
  ): readonly Frame[] => {
    const place = { item_id: whole.id, output_index: output.length }
    const { output_index } = place
    const frames = [
      eventFrame('response.output_item.added', { output_index, item: { ...whole, ...opening } }),
      ...between(place),
      eventFrame('response.output_item.done', { output_index, item: whole }),
    ]
    output.push(whole)
    return frames
  }
  /** The response as of now, with the output so far. */
  const responseFields = (status: string, otherFields: object = {}): object => ({
    response: { id, object: 'response', created_at: 0, model, status, output, ...otherFields },
  })
  return {
    begin: () => [eventFrame('response.created', responseFields('in_progress'))],
    text: (chunks) => {
      const text = chunks.join('')
      const part = { type: 'output_text', text, annotations: [] }
      const whole = { id: `${id}_${output.length}`, type: 'message', role: 'assistant', status: 'completed' }
      return itemFrames({ ...whole, content: [part] }, { status: 'in_progress', content: [] }, (place) => {
        const at = { ...place, content_index: 0 }
        return [
          eventFrame('response.content_part.added', { ...at, part: { ...part, text: '' } }),
          ...chunks.map((delta) => eventFrame('response.output_text.delta', { ...at, delta })),
          eventFrame('response.output_text.done', { ...at, text }),
          eventFrame('response.content_part.done', { ...at, part }),
        ]
      })
    },
    reasoning: (chunks) => {
      const text = chunks.join('')
      const whole = { id: `${id}_${output.length}`, type: 'reasoning', summary: [{ type: 'summary_text', text }] }
      return itemFrames(whole, { summary: [] }, (place) => {
        const at = { ...place, summary_index: 0 }
        return [
          eventFrame('response.reasoning_summary_part.added', { ...at, part: { type: 'summary_text', text: '' } }),
          ...chunks.map((delta) => eventFrame('response.reasoning_summary_text.delta', { ...at, delta })),
          eventFrame('response.reasoning_summary_text.done', { ...at, text }),
        ]
      })
    },
    tool: ({ id: callID, name, pieces }) => {
      const whole = {
        id: `${id}_${output.length}`,
        type: 'function_call',
        status: 'completed',
        call_id: callID,
        ...nameFields(name),
        arguments: pieces.join(''),
      }
      return itemFrames(whole, { status: 'in_progress', arguments: '' }, (place) => [
        ...pieces.map((delta) => eventFrame('response.function_call_arguments.delta', { ...place, delta })),
        eventFrame('response.function_call_arguments.done', { ...place, arguments: whole.arguments }),
      ])
    },
    end: (spent, reason) => {
      const usage = {
        input_tokens: spent.input,
        input_tokens_details: { cached_tokens: spent.cached },
        output_tokens: spent.output,
        output_tokens_details: { reasoning_tokens: 0 },
        total_tokens: spent.input + spent.output,
      }
      if (reason === undefined) return [eventFrame('response.completed', responseFields('completed', { usage }))]
      return [
        eventFrame('response.incomplete', responseFields('incomplete', { usage, incomplete_details: { reason } })),
      ]
    },
  }
}

/** Returns the fields that name a tool. Codex puts some into namespaces, and scripts call them `namespace.name`. */
const nameFields = (name: string): object => {
  const dot = name.lastIndexOf('.')
  return dot === -1 ? { name } : { namespace: name.slice(0, dot), name: name.slice(dot + 1) }
}

interface Place {
  readonly item_id: string
  readonly output_index: number
}
