import type { LocalOutput } from '@reply/core/source'
import { promptResponse } from './schema.ts'

/** Reads the response that ends a prompt. `cost` is the run's, in US dollars. Undefined if it is malformed. */
export function readPromptEnd(
  response: unknown,
  cost: number,
): { readonly stopReason: string; readonly usage: readonly LocalOutput[] } | undefined {
  const { data } = promptResponse.safeParse(response)
  if (!data) return undefined
  const { stopReason, _meta } = data
  const quota = _meta?.quota.token_count
  const usage: typeof data.usage =
    data.usage ?? (quota && { inputTokens: quota.input_tokens, outputTokens: quota.output_tokens })
  if (!usage || usage.inputTokens + usage.outputTokens === 0) return { stopReason, usage: [] }
  const tokens = {
    input: usage.inputTokens,
    output: usage.outputTokens,
    reasoning: usage.thoughtTokens ?? 0,
    cacheRead: usage.cachedReadTokens ?? 0,
    cacheWrite: usage.cachedWriteTokens ?? 0,
  }
  return { stopReason, usage: [{ type: 'usage', stepID: 'turn', tokens, cost }] }
}
