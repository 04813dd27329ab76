import * as z from 'zod'
import { completed, failed, type OneWaySaid, output, wholeText } from '../said.ts'

const count = z.number().default(0)
const line = z.union([
  z.object({ type: z.literal('thread.started'), thread_id: z.string() }),
  z.object({
    type: z.enum(['item.started', 'item.completed']),
    item: z.union([
      z.object({ type: z.enum(['agent_message', 'reasoning']), text: z.string() }),
      z.object({
        type: z.literal('command_execution'),
        id: z.string(),
        command: z.string(),
        aggregated_output: z.string().default(''),
        status: z.string(),
      }),
    ]),
  }),
  z.object({
    type: z.literal('turn.completed'),
    usage: z.object({
      input_tokens: count,
      cached_input_tokens: count,
      cache_write_input_tokens: count,
      output_tokens: count,
      reasoning_output_tokens: count,
    }),
  }),
  z.object({ type: z.literal('turn.failed'), error: z.object({ message: z.string() }) }),
])

/** Reads one line of `codex exec --json`. Recorded with 0.169.0. */
export function decodeCodexExec(value: unknown): readonly OneWaySaid[] {
  const said = line.safeParse(value).data
  if (!said) return []
  switch (said.type) {
    case 'thread.started':
      return [{ type: 'session', id: said.thread_id }]
    case 'turn.failed':
      return failed('CodexError', said.error.message)
    case 'turn.completed': {
      const { usage } = said
      const [cacheRead, cacheWrite] = [usage.cached_input_tokens, usage.cache_write_input_tokens]
      const input = usage.input_tokens - cacheRead - cacheWrite
      const tokens = {
        input,
        output: usage.output_tokens,
        reasoning: usage.reasoning_output_tokens,
        cacheRead,
        cacheWrite,
      }
      return [...output({ type: 'usage', tokens, cost: 0 }), ...completed]
    }
    default: {
      const { item } = said
      const isOver = said.type === 'item.completed'
      if (item.type !== 'command_execution')
        return isOver ? wholeText(item.type === 'reasoning' ? 'reasoning' : 'text', item.text, value) : []
      const fields = { input: { command: item.command } }
      const state = !isOver
        ? { status: 'running' as const, ...fields }
        : item.status === 'declined'
          ? { status: 'error' as const, error: 'It was not allowed.', ...fields }
          : { status: 'completed' as const, output: item.aggregated_output, ...fields }
      return output({ type: 'tool', callID: item.id, tool: 'bash', state, raw: value })
    }
  }
}
