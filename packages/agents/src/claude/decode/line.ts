import * as z from 'zod'
import { formSchema } from '../../forms/decode.ts'
import { filesIn, linkedFiles, textIn } from './content.ts'
import type { ClaudeEvent } from './event.ts'

const input = z.record(z.string(), z.unknown())

const tokens = z.object({
  input_tokens: z.number().default(0),
  cache_read_input_tokens: z.number().nullish(),
  cache_creation_input_tokens: z.number().nullish(),
})

/** One block of a message. Unknown kinds become undefined. */
const block = z.union([
  z.object({ type: z.literal('text'), text: z.string() }),
  z.object({ type: z.literal('thinking'), thinking: z.string() }),
  z.object({ type: z.literal('tool_use'), id: z.string(), name: z.string(), input }),
  z.object({
    type: z.literal('tool_result'),
    tool_use_id: z.string(),
    is_error: z.boolean().nullish(),
    content: z.unknown().optional(),
  }),
  z.object({ type: z.string() }).transform(() => undefined),
])

/** The call that started the sub-agent of a line. */
const parent = z.string().nullish()

/** Lines of the type `system`. */
const system = z.union([
  z.object({ subtype: z.literal('init'), model: z.string() }),
  z.object({
    subtype: z.literal('task_started'),
    task_id: z.string(),
    tool_use_id: z.string().optional(),
    task_type: z.string().default('local_agent'),
    description: z.string().default(''),
    prompt: z.string().default(''),
    is_backgrounded: z.boolean().optional(),
  }),
  z.object({ subtype: z.literal('task_updated'), task_id: z.string(), patch: z.object({ status: z.string() }) }),
  z.object({
    subtype: z.literal('task_notification'),
    task_id: z.string(),
    status: z.string(),
    summary: z.string().default(''),
  }),
  z.object({ subtype: z.literal('session_state_changed'), state: z.literal('idle') }),
  z.object({ subtype: z.literal('api_retry'), attempt: z.number(), retry_delay_ms: z.number(), error: z.string() }),
  z.object({ subtype: z.literal('status'), status: z.literal('compacting') }),
  z.object({
    subtype: z.literal('status'),
    compact_result: z.literal('failed'),
    compact_error: z.string().nullish(),
    uuid: z.string(),
  }),
  z.object({ subtype: z.literal('compact_boundary') }),
  // Those of the level `info` are not shown by Claude Code itself.
  z.object({
    subtype: z.literal('informational'),
    content: z.string(),
    level: z.enum(['notice', 'suggestion', 'warning']),
    uuid: z.string(),
  }),
])

/** The events of `stream_event`, which are those of the Messages API. */
const streamed = z.union([
  z.object({
    type: z.literal('message_start'),
    message: z.object({ id: z.string(), model: z.string(), usage: tokens }),
  }),
  z.object({
    type: z.literal('content_block_start'),
    content_block: z.object({ type: z.literal('tool_use'), id: z.string(), name: z.string() }),
  }),
  z.object({
    type: z.literal('content_block_delta'),
    delta: z.union([
      z.object({ type: z.literal('text_delta'), text: z.string() }),
      z.object({ type: z.literal('thinking_delta'), thinking: z.string() }),
    ]),
  }),
  z.object({ type: z.literal('message_delta'), usage: z.object({ output_tokens: z.number() }) }),
])

/** A permission suggestion that adds rules. */
const suggestion = z.looseObject({
  type: z.literal('addRules'),
  behavior: z.literal('allow'),
  rules: z.array(z.looseObject({ toolName: z.string(), ruleContent: z.string().optional() })),
})

/** The body of a `control_request` for a permission. */
const request = z.object({
  subtype: z.literal('can_use_tool'),
  tool_name: z.string(),
  input,
  tool_use_id: z.string(),
  agent_id: z.string().optional(),
  permission_suggestions: z.array(input).nullish(),
})

/** The body of a `control_request` for an elicitation. Only 2.1.332 has addresses to visit. */
const elicitation = z.object({
  subtype: z.literal('elicitation'),
  mcp_server_name: z.string(),
  message: z.string(),
  requested_schema: formSchema.nullish(),
  url: z.url({ protocol: /^https?$/ }).nullish(),
})

/** The end of a run. */
const result = z.object({
  subtype: z.string(),
  is_error: z.boolean().default(false),
  result: z.string().default(''),
  errors: z.array(z.string()).default([]),
  api_error_status: z.number().nullish(),
  stop_reason: z.string().nullish(),
  terminal_reason: z.string().nullish(),
  origin: z.object({ kind: z.string() }).nullish(),
  total_cost_usd: z.number().default(0),
  model_usage_since_last_result: z.record(z.string(), z.object({ costUSD: z.number().default(0) })).nullish(),
  modelUsage: z.record(z.string(), z.object({ contextWindow: z.number().optional() })).default({}),
})

const line = z.union([
  z
    .object({ type: z.literal('system') })
    .and(system)
    .transform(systemEvents),
  z
    .object({ type: z.literal('stream_event'), parent_tool_use_id: parent, event: streamed })
    .transform(({ event, parent_tool_use_id }) => (typeof parent_tool_use_id === 'string' ? [] : streamEvents(event))),
  z
    .object({
      type: z.literal('assistant'),
      parent_tool_use_id: parent,
      message: z.object({ model: z.string(), content: z.array(block) }),
    })
    .transform(({ message, parent_tool_use_id }) => assistantEvents(message, parent_tool_use_id ?? undefined)),
  z
    .object({ type: z.literal('user'), isReplay: z.literal(true), uuid: z.string() })
    .transform(({ uuid }): readonly ClaudeEvent[] => [{ type: 'prompt', uuid }]),
  z
    .object({ type: z.literal('command_lifecycle'), command_uuid: z.string(), state: z.literal('started') })
    .transform(({ command_uuid }): readonly ClaudeEvent[] => [{ type: 'prompt', uuid: command_uuid }]),
  z
    .object({
      type: z.literal('user'),
      parent_tool_use_id: parent,
      message: z.object({ content: z.array(block) }),
      tool_use_result: z.unknown().optional(),
    })
    .transform(({ message, parent_tool_use_id, tool_use_result }) =>
      resultEvents(message.content, parent_tool_use_id ?? undefined, tool_use_result),
    ),
  z
    .object({ type: z.literal('control_request'), request_id: z.string(), request })
    .transform(({ request_id, request: asked }) => requestEvents(request_id, asked)),
  z
    .object({ type: z.literal('control_request'), request_id: z.string(), request: elicitation })
    .transform(({ request_id, request: asked }) => elicitationEvents(request_id, asked)),
  z
    .object({
      type: z.literal('control_request'),
      request_id: z.string(),
      request: z.object({ subtype: z.string().default('') }),
    })
    .transform(({ request_id, request: { subtype } }): readonly ClaudeEvent[] => [
      { type: 'unknown-request', requestID: request_id, subtype },
    ]),
  z
    .object({ type: z.literal('control_cancel_request'), request_id: z.string() })
    .transform(({ request_id }): readonly ClaudeEvent[] => [{ type: 'ask-gone', requestID: request_id }]),
  z
    .object({
      type: z.literal('control_response'),
      response: z.object({ request_id: z.string(), error: z.string().optional(), response: z.unknown().optional() }),
    })
    .transform(({ response: { request_id, error, response } }): readonly ClaudeEvent[] => [
      { type: 'response', requestID: request_id, value: response, ...(error !== undefined && { error }) },
    ]),
  z
    .object({ type: z.literal('result') })
    .and(result)
    .transform(endEvents),
])

/**
 * Returns the events of one line, in order. Empty if it changes no reply, for example if its kind is unknown or it has
 * another shape.
 */
export function decodeClaude(value: unknown): readonly ClaudeEvent[] {
  const found = line.safeParse(value)
  return found.success ? found.data : []
}

/** Returns the events of a `system` line: a turn, an end of work, a task, a retry, a compaction or a notice. */
function systemEvents(found: z.infer<typeof system>): readonly ClaudeEvent[] {
  switch (found.subtype) {
    case 'init':
      return [{ type: 'turn', model: found.model }]
    case 'session_state_changed':
      return [{ type: 'idle' }]
    case 'task_started':
      return [
        {
          type: 'task',
          kind: found.task_type === 'local_agent' ? 'agent' : 'command',
          taskID: found.task_id,
          title: found.description,
          text: found.prompt,
          ...(found.tool_use_id !== undefined && { callID: found.tool_use_id }),
          ...(found.is_backgrounded !== undefined && { isBackground: found.is_backgrounded }),
        },
      ]
    case 'task_updated':
      return taskStatusEvents(found.task_id, found.patch.status)
    case 'task_notification':
      return taskStatusEvents(found.task_id, found.status, found.summary)
    case 'api_retry':
      return [{ type: 'retry', attempt: found.attempt, afterMs: found.retry_delay_ms, message: found.error }]
    case 'status':
      if ('status' in found) return [{ type: 'compaction', state: 'started' }]
      return [
        { type: 'compaction', state: 'failed' },
        {
          type: 'notice',
          id: found.uuid,
          text: `The conversation was not compacted: ${found.compact_error ?? 'Claude Code gives no reason.'}`,
        },
      ]
    case 'compact_boundary':
      return [{ type: 'compaction', state: 'done' }]
    case 'informational':
      return [{ type: 'notice', id: found.uuid, text: found.content }]
    default:
      return found satisfies never
  }
}

/** Returns the end of a task, without an empty summary. Empty for a task that has not ended. */
function taskStatusEvents(taskID: string, status: string, summary = ''): readonly ClaudeEvent[] {
  const outcome = outcomes.get(status)
  return outcome === undefined ? [] : [{ type: 'task-ended', taskID, outcome, ...(summary !== '' && { summary }) }]
}

/** By the status of a task. `stopped` in a notification is `killed` in an update. */
const outcomes: ReadonlyMap<string, Extract<ClaudeEvent, { readonly type: 'task-ended' }>['outcome']> = new Map([
  ['completed', 'completed'],
  ['failed', 'failed'],
  ['stopped', 'aborted'],
  ['killed', 'aborted'],
] as const)

/** Returns the event of a piece of the answer that is being streamed. */
function streamEvents(event: z.infer<typeof streamed>): readonly ClaudeEvent[] {
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

/**
 * Returns the texts, thoughts and calls of a whole message, in order. `parentCallID` is the call that started the
 * sub-agent that wrote it. Leaves out other blocks.
 */
function assistantEvents(
  { model, content }: { readonly model: string; readonly content: Blocks },
  parentCallID: string | undefined,
) {
  // Messages of Claude Code itself, for example errors, have this model and are not streamed.
  const isOwn = model === '<synthetic>'
  return content.flatMap((one): readonly ClaudeEvent[] => {
    if (one?.type === 'text')
      return [{ type: 'text', kind: 'text', text: one.text, isOwn, ...parentField(parentCallID) }]
    if (one?.type === 'thinking')
      return [{ type: 'text', kind: 'reasoning', text: one.thinking, isOwn, ...parentField(parentCallID) }]
    if (one?.type !== 'tool_use') return []
    return [{ type: 'call', callID: one.id, tool: one.name, input: one.input, ...parentField(parentCallID) }]
  })
}

/**
 * Returns the results of tools. `parentCallID` is the call that started the sub-agent that made the call, and `value`
 * the tool's own result, which is that of the only result because each has its own line.
 */
function resultEvents(content: Blocks, parentCallID: string | undefined, value: unknown): readonly ClaudeEvent[] {
  return content.flatMap((one): readonly ClaudeEvent[] => {
    if (one?.type !== 'tool_result') return []
    const text = textIn(one.content)
    const isError = one.is_error === true
    const isLaunch = launch.safeParse(value).success
    const files = [...filesIn(one.content), ...linkedFiles(value)]
    return [
      { type: 'result', callID: one.tool_use_id, isError, text, files, value, isLaunch, ...parentField(parentCallID) },
    ]
  })
}

const launch = z.object({ isAsync: z.literal(true), status: z.literal('async_launched') })

/** Returns the field that makes an event a sub-agent's. Empty for the session's own events. */
const parentField = (parentCallID: string | undefined) => (parentCallID === undefined ? {} : { parent: parentCallID })

/** Returns the ask of a permission request. Of its suggestions, only rules that allow something count for "always". */
function requestEvents(requestID: string, asked: z.infer<typeof request>): readonly ClaudeEvent[] {
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

/** Returns the form or the address with which an MCP server asks. A form that can't be read has no schema. */
function elicitationEvents(requestID: string, asked: z.infer<typeof elicitation>): readonly ClaudeEvent[] {
  const { mcp_server_name: server, message, requested_schema, url } = asked
  const schema = requested_schema ?? undefined
  return [{ type: 'form', requestID, server, message, schema, ...(typeof url === 'string' && { url }) }]
}

/**
 * Returns the end of a turn. Its text is the answer, else the errors, else the kind of the end. The context limit is
 * that of the first model that names one.
 */
function endEvents(found: z.infer<typeof result>): readonly ClaudeEvent[] {
  const { is_error: isError, terminal_reason, api_error_status, stop_reason, modelUsage } = found
  const limits = Object.values(modelUsage).flatMap(({ contextWindow }) => contextWindow ?? [])
  const spent = Object.values(found.model_usage_since_last_result ?? {}).map(({ costUSD }) => costUSD)
  return [
    {
      type: 'end',
      isError,
      isAborted: terminal_reason?.startsWith('aborted') === true,
      text: found.result || found.errors.join('\n') || found.subtype,
      // The origin of a prompt's turn is absent, or a person.
      isWake: (found.origin?.kind ?? 'human') !== 'human',
      totalCost: found.total_cost_usd,
      ...(found.model_usage_since_last_result && { cost: spent.reduce((sum, cost) => sum + cost, 0) }),
      ...(typeof api_error_status === 'number' && { statusCode: api_error_status }),
      ...(typeof stop_reason === 'string' && { stopReason: stop_reason }),
      ...(limits[0] !== undefined && { contextLimit: limits[0] }),
    },
  ]
}
