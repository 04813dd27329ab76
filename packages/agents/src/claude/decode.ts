import * as z from 'zod'
import { block, parent, request, result, streamed, suggestion, system } from './decode/lines.ts'
import type { ClaudeSaid } from './said.ts'

const line = z.union([
  z
    .object({ type: z.literal('system') })
    .and(system)
    .transform(ofSystem),
  z
    .object({ type: z.literal('stream_event'), parent_tool_use_id: parent, event: streamed })
    .transform(({ event, parent_tool_use_id }) => (typeof parent_tool_use_id === 'string' ? [] : ofStream(event))),
  z
    .object({
      type: z.literal('assistant'),
      parent_tool_use_id: parent,
      message: z.object({ model: z.string(), content: z.array(block) }),
    })
    .transform(({ message, parent_tool_use_id }) => ofAssistant(message, parent_tool_use_id ?? undefined)),
  z
    .object({
      type: z.literal('user'),
      parent_tool_use_id: parent,
      message: z.object({ content: z.array(block) }),
      tool_use_result: z.unknown().optional(),
    })
    .transform(({ message, parent_tool_use_id, tool_use_result }) =>
      ofResults(message.content, parent_tool_use_id ?? undefined, tool_use_result),
    ),
  z
    .object({ type: z.literal('control_request'), request_id: z.string(), request })
    .transform(({ request_id, request: asked }) => ofRequest(request_id, asked)),
  z
    .object({
      type: z.literal('control_request'),
      request_id: z.string(),
      request: z.object({ subtype: z.string().default('') }),
    })
    .transform(({ request_id, request: { subtype } }): readonly ClaudeSaid[] => [
      { type: 'unknown-request', requestID: request_id, subtype },
    ]),
  z
    .object({ type: z.literal('control_cancel_request'), request_id: z.string() })
    .transform(({ request_id }): readonly ClaudeSaid[] => [{ type: 'ask-gone', requestID: request_id }]),
  z
    .object({
      type: z.literal('control_response'),
      response: z.object({ request_id: z.string(), error: z.string().optional(), response: z.unknown().optional() }),
    })
    .transform(({ response: { request_id, error, response } }): readonly ClaudeSaid[] => [
      { type: 'response', requestID: request_id, value: response, ...(error !== undefined && { error }) },
    ]),
  z
    .object({ type: z.literal('result') })
    .and(result)
    .transform(ofEnd),
])

/** Reads one line. Empty for what changes no reply, such as kinds that this version doesn't know. */
export function decodeClaude(value: unknown): readonly ClaudeSaid[] {
  const found = line.safeParse(value)
  return found.success ? found.data : []
}

function ofSystem(said: z.infer<typeof system>): readonly ClaudeSaid[] {
  switch (said.subtype) {
    case 'init':
      return [{ type: 'init', model: said.model }]
    case 'task_started': {
      const { tool_use_id: callID, task_id: agentID, description: title, prompt: text } = said
      return [{ type: 'agent', callID, agentID, title, text }]
    }
    case 'api_retry':
      return [{ type: 'retry', attempt: said.attempt, afterMs: said.retry_delay_ms, message: said.error }]
    case 'status':
      return [{ type: 'compaction', state: 'started' }]
    case 'compact_boundary':
      return [{ type: 'compaction', state: 'done' }]
    default:
      return said satisfies never
  }
}

function ofStream(event: z.infer<typeof streamed>): readonly ClaudeSaid[] {
  switch (event.type) {
    case 'message_start': {
      const { id, model, usage } = event.message
      const { input_tokens, cache_read_input_tokens, cache_creation_input_tokens } = usage
      const counted = {
        input: input_tokens,
        cacheRead: cache_read_input_tokens ?? 0,
        cacheWrite: cache_creation_input_tokens ?? 0,
      }
      return [{ type: 'message', messageID: id, model, usage: counted }]
    }
    case 'content_block_start':
      return [{ type: 'writing', callID: event.content_block.id, tool: event.content_block.name }]
    case 'content_block_delta':
      return event.delta.type === 'text_delta'
        ? [{ type: 'delta', kind: 'text', delta: event.delta.text }]
        : [{ type: 'delta', kind: 'reasoning', delta: event.delta.thinking }]
    case 'message_delta':
      return [{ type: 'step', output: event.usage.output_tokens }]
    default:
      return event satisfies never
  }
}

type Blocks = readonly z.infer<typeof block>[]

function ofAssistant({ model, content }: { readonly model: string; readonly content: Blocks }, of: string | undefined) {
  // Claude Code's own words, such as an error, come as a message of this model and are not streamed.
  const isOwn = model === '<synthetic>'
  return content.flatMap((one): readonly ClaudeSaid[] => {
    if (one?.type === 'text') return [{ type: 'text', kind: 'text', text: one.text, isOwn, ...child(of) }]
    if (one?.type === 'thinking') return [{ type: 'text', kind: 'reasoning', text: one.thinking, isOwn, ...child(of) }]
    if (one?.type !== 'tool_use') return []
    return [{ type: 'call', callID: one.id, tool: one.name, input: one.input, ...child(of) }]
  })
}

/** `value` is the result of the tool itself: each result has a line of its own. */
function ofResults(content: Blocks, of: string | undefined, value: unknown): readonly ClaudeSaid[] {
  return content.flatMap((one): readonly ClaudeSaid[] => {
    if (one?.type !== 'tool_result') return []
    const text = textIn(one.content)
    return [{ type: 'result', callID: one.tool_use_id, isError: one.is_error === true, text, value, ...child(of) }]
  })
}

const child = (parentID: string | undefined) => (parentID === undefined ? {} : { parent: parentID })

const texts = z.array(z.object({ text: z.string() }).or(z.unknown().transform(() => ({ text: '' }))))

function textIn(content: unknown): string {
  if (typeof content === 'string') return content
  const found = texts.safeParse(content)
  return found.success
    ? found.data
        .map(({ text }) => text)
        .filter((text) => text !== '')
        .join('\n')
    : ''
}

function ofRequest(requestID: string, asked: z.infer<typeof request>): readonly ClaudeSaid[] {
  const { tool_name: tool, tool_use_id: callID, agent_id: agentID, permission_suggestions } = asked
  const rules = (permission_suggestions ?? []).flatMap((one) => {
    const found = suggestion.safeParse(one)
    if (!found.success) return []
    const content = found.data.rules.map(({ toolName, ruleContent }) => ruleContent ?? toolName).join(', ')
    return [{ content, suggestion: one }]
  })
  const agent = agentID === undefined ? {} : { agentID }
  return [{ type: 'ask', requestID, callID, tool, input: asked.input, rules, ...agent }]
}

function ofEnd(said: z.infer<typeof result>): readonly ClaudeSaid[] {
  const { is_error: isError, terminal_reason, api_error_status, stop_reason, modelUsage } = said
  const limits = Object.values(modelUsage).flatMap(({ contextWindow }) => contextWindow ?? [])
  return [
    {
      type: 'end',
      isError,
      isAborted: terminal_reason?.startsWith('aborted') === true,
      text: said.result || said.errors.join('\n') || said.subtype,
      totalCost: said.total_cost_usd,
      ...(typeof api_error_status === 'number' && { statusCode: api_error_status }),
      ...(typeof stop_reason === 'string' && { stopReason: stop_reason }),
      ...(limits[0] !== undefined && { contextLimit: limits[0] }),
    },
  ]
}
