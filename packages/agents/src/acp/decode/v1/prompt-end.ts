import type { LocalOutput } from '@reply/core/source'
import { usageOf } from '../ending.ts'
import { promptResponse } from './schema.ts'

/**
 * Reads the response that ends a prompt. Its usage is the agent's, else the quota of Gemini CLI, and empty without both.
 * `cost` is the run's, in US dollars. Undefined if it is malformed.
 */
export function readPromptEnd(
  response: unknown,
  cost: number,
): { readonly stopReason: string; readonly usage: readonly LocalOutput[] } | undefined {
  const { data } = promptResponse.safeParse(response)
  if (!data) return undefined
  const { stopReason, _meta } = data
  const quota = _meta?.quota.token_count
  const counts = data.usage ?? (quota && { inputTokens: quota.input_tokens, outputTokens: quota.output_tokens })
  return { stopReason, usage: usageOf(counts, cost) }
}
