import * as z from 'zod'

const input = z.record(z.string(), z.unknown())
const tokens = z.object({
  input_tokens: z.number().default(0),
  cache_read_input_tokens: z.number().nullish(),
  cache_creation_input_tokens: z.number().nullish(),
})
/** One block of a message. Undefined for a kind that is not known. */
export const block = z.union([
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
/** The call of the sub-agent that a line is about. */
export const parent = z.string().nullish()

/** Lines of the type `system`. */
export const system = z.union([
  z.object({ subtype: z.literal('init'), model: z.string() }),
  z.object({
    subtype: z.literal('task_started'),
    task_id: z.string(),
    tool_use_id: z.string(),
    description: z.string(),
    prompt: z.string().default(''),
  }),
  z.object({ subtype: z.literal('api_retry'), attempt: z.number(), retry_delay_ms: z.number(), error: z.string() }),
  z.object({ subtype: z.literal('status'), status: z.literal('compacting') }),
  z.object({ subtype: z.literal('compact_boundary') }),
])

/** The events of `stream_event`: those of the Messages API. */
export const streamed = z.union([
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

/** A suggestion that adds rules to the permissions. */
export const suggestion = z.looseObject({
  type: z.literal('addRules'),
  behavior: z.literal('allow'),
  rules: z.array(z.looseObject({ toolName: z.string(), ruleContent: z.string().optional() })),
})

/** What a `control_request` asks. */
export const request = z.object({
  subtype: z.literal('can_use_tool'),
  tool_name: z.string(),
  input,
  tool_use_id: z.string(),
  agent_id: z.string().optional(),
  permission_suggestions: z.array(input).nullish(),
})

/** The end of a run. */
export const result = z.object({
  subtype: z.string(),
  is_error: z.boolean().default(false),
  result: z.string().default(''),
  errors: z.array(z.string()).default([]),
  api_error_status: z.number().nullish(),
  stop_reason: z.string().nullish(),
  terminal_reason: z.string().nullish(),
  total_cost_usd: z.number().default(0),
  modelUsage: z.record(z.string(), z.object({ contextWindow: z.number().optional() })).default({}),
})
