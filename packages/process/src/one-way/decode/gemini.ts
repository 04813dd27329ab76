import * as z from 'zod'
import { completed, failed, type OneWaySaid, output } from '../said.ts'

const count = z.number().default(0)
const line = z.union([
  z.object({ type: z.literal('init'), session_id: z.string() }),
  z.object({ type: z.literal('message'), role: z.literal('assistant'), content: z.string() }),
  z.object({
    type: z.literal('tool_use'),
    tool_name: z.string(),
    tool_id: z.string(),
    parameters: z.record(z.string(), z.unknown()).default({}),
  }),
  z.object({
    type: z.literal('tool_result'),
    tool_id: z.string(),
    status: z.string(),
    output: z.string().default(''),
  }),
  z.object({
    type: z.literal('result'),
    status: z.string(),
    error: z.object({ message: z.string() }).optional(),
    stats: z.object({ input_tokens: count, output_tokens: count, cached: count }).optional(),
  }),
])

/** Views know these names. */
const names: Readonly<Record<string, string>> = { run_shell_command: 'bash' }

/** Reads the lines of `gemini --output-format stream-json`, one run's in order. Recorded with 0.61.0. */
export function createGeminiDecoder(): (value: unknown) => readonly OneWaySaid[] {
  /** A result names its call alone. */
  const calls = new Map<string, { readonly tool: string; readonly input: Readonly<Record<string, unknown>> }>()
  return (value) => {
    const said = line.safeParse(value).data
    if (!said) return []
    switch (said.type) {
      case 'init':
        return [{ type: 'session', id: said.session_id }]
      case 'message':
        return output({ type: 'text', delta: said.content, raw: value })
      case 'tool_use': {
        const call = { tool: names[said.tool_name] ?? said.tool_name, input: said.parameters }
        calls.set(said.tool_id, call)
        const state = { status: 'running' as const, input: call.input }
        return output({ type: 'tool', callID: said.tool_id, tool: call.tool, state, raw: value })
      }
      case 'tool_result': {
        const { tool, input } = calls.get(said.tool_id) ?? { tool: 'unknown', input: {} }
        const state =
          said.status === 'error'
            ? { status: 'error' as const, input, error: said.output }
            : { status: 'completed' as const, input, output: said.output }
        return output({ type: 'tool', callID: said.tool_id, tool, state, raw: value })
      }
      case 'result': {
        const { input_tokens = 0, output_tokens = 0, cached = 0 } = said.stats ?? {}
        const tokens = {
          input: input_tokens - cached,
          output: output_tokens,
          reasoning: 0,
          cacheRead: cached,
          cacheWrite: 0,
        }
        const spent = output({ type: 'usage', tokens, cost: 0 })
        return [...spent, ...(said.error ? failed('GeminiError', said.error.message) : completed)]
      }
      default:
        return said satisfies never
    }
  }
}
