import type { ReplyFailure } from '@reply/core'
import type { LocalEnding, LocalOutput } from '@reply/core/source'
import type { TokenCounts } from './schema.ts'

/**
 * Converts a stop reason. `refusal` fails the run, `cancelled` aborts it, and any other completes it: `max_tokens` with the
 * finish `length`, `max_turn_requests` with `tool-calls`, and one that the protocol doesn't have with itself.
 */
export function endingOf(stopReason: string): LocalEnding {
  switch (stopReason) {
    case 'end_turn':
      return { type: 'completed' }
    case 'max_tokens':
      return { type: 'completed', finish: 'length' }
    // The agent had more to do.
    case 'max_turn_requests':
      return { type: 'completed', finish: 'tool-calls' }
    case 'refusal':
      return { type: 'failed', error: { name: 'refusal', message: 'The agent refused to continue.', raw: stopReason } }
    case 'cancelled':
      return { type: 'aborted' }
    default:
      return { type: 'completed', finish: stopReason }
  }
}

/** A JSON-RPC error from the agent. Some agents put the provider's message into `data`. */
interface RpcError {
  readonly code: number
  readonly message: string
  readonly data?: unknown
}

/**
 * Converts an error. Code -32000 means that a login is required (https://agentclientprotocol.com/protocol/schema#errorcode):
 * `unauthorized`, with the status 401. The message is the provider's if the agent sends it as JSON, followed by the details
 * in `data` unless it has them.
 */
export function failureOf({ code, message, data }: RpcError): ReplyFailure {
  const details = messageIn(data)
  const isRefused = code === -32_000
  // Gemini CLI 0.61 sends the provider's HTTP status as the code, and its JSON as the message.
  const statusCode = isRefused ? 401 : code >= 400 && code < 600 ? code : undefined
  const name = isRefused ? 'unauthorized' : `JSON-RPC ${code}`
  const main = messageIn(providerError(message)) ?? message
  const all = details === undefined || main.includes(details) ? main : `${main}: ${details}`
  return { name, message: all, ...(statusCode && { statusCode }), raw: { code, message, data } }
}

/** Returns the `error` field of a message that is JSON. Undefined for other messages, and without the field. */
function providerError(message: string): unknown {
  try {
    const value: unknown = JSON.parse(message)
    return typeof value === 'object' && value !== null && 'error' in value ? value.error : undefined
  } catch {
    return undefined
  }
}

/**
 * Returns the message in the data of an error: the text itself, or its first field of `message`, `details` and `error` that
 * is a text. Undefined if there is none, or if the fields are empty.
 */
function messageIn(data: unknown): string | undefined {
  if (typeof data === 'string') return data
  if (typeof data !== 'object' || data === null) return undefined
  for (const value of [
    'message' in data && data.message,
    'details' in data && data.details,
    'error' in data && data.error,
  ])
    if (typeof value === 'string' && value !== '') return value
  return undefined
}

/**
 * Returns the usage of a turn, with its cost in US dollars. Empty without counts, and if no token was counted, whatever the
 * cost.
 */
export function usageOf(counts: TokenCounts | null | undefined, cost: number): readonly LocalOutput[] {
  if (!counts || counts.inputTokens + counts.outputTokens === 0) return []
  const tokens = {
    input: counts.inputTokens,
    output: counts.outputTokens,
    reasoning: counts.thoughtTokens ?? 0,
    cacheRead: counts.cachedReadTokens ?? 0,
    cacheWrite: counts.cachedWriteTokens ?? 0,
  }
  return [{ type: 'usage', stepID: 'turn', tokens, cost }]
}
