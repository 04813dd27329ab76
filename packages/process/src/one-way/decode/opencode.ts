import * as z from 'zod'
import { completed, failed, type OneWaySaid, output, wholeText } from '../said.ts'

const of = { sessionID: z.string() }
const count = z.number().default(0)
const fields = z.record(z.string(), z.unknown())
const line = z.union([
  z.object({ ...of, type: z.enum(['text', 'reasoning']), part: z.object({ text: z.string() }) }),
  z.object({
    ...of,
    type: z.literal('tool_use'),
    part: z.object({
      tool: z.string(),
      callID: z.string(),
      state: z.object({
        status: z.enum(['completed', 'error']),
        input: fields.default({}),
        title: z.string().optional(),
        output: z.string().optional(),
        error: z.string().optional(),
        metadata: fields.optional(),
      }),
    }),
  }),
  z.object({
    ...of,
    type: z.literal('step_finish'),
    part: z.object({
      id: z.string(),
      reason: z.string().optional(),
      cost: count,
      tokens: z.object({
        input: count,
        output: count,
        reasoning: count,
        cache: z.object({ read: count, write: count }).default({ read: 0, write: 0 }),
      }),
    }),
  }),
  z.object({
    ...of,
    type: z.literal('error'),
    error: z.object({
      name: z.string(),
      data: z.object({ message: z.string().optional(), statusCode: z.number().optional() }).default({}),
    }),
  }),
])

/** Reads one line of `opencode run --format json`. Recorded with 1.18.33. */
export function decodeOpencodeRun(value: unknown): readonly OneWaySaid[] {
  const said = line.safeParse(value).data
  if (!said) return []
  return [{ type: 'session', id: said.sessionID }, ...contentOf(said, value)]
}

function contentOf(said: z.infer<typeof line>, raw: unknown): readonly OneWaySaid[] {
  switch (said.type) {
    case 'text':
    case 'reasoning':
      return wholeText(said.type, said.part.text, raw)
    case 'tool_use': {
      const { tool, callID, state } = said.part
      return output({ type: 'tool', callID, tool, state, raw })
    }
    case 'step_finish': {
      const { id, reason, cost, tokens } = said.part
      const { cache, ...rest } = tokens
      const spent = output({
        type: 'usage',
        stepID: id,
        cost,
        tokens: { ...rest, cacheRead: cache.read, cacheWrite: cache.write },
      })
      return reason === 'tool-calls' ? spent : [...spent, ...completed]
    }
    case 'error':
      return failed(said.error.name, said.error.data.message ?? said.error.name, said.error.data.statusCode)
    default:
      return said satisfies never
  }
}
