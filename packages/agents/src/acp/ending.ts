import type { ReplyFailure } from '@reply/core'
import type { LocalEnding } from '@reply/core/source'

/** What a stop reason means. One that protocol 1 doesn't have counts as an end, and is kept as the finish reason. */
export function endingOf(stopReason: string): LocalEnding {
  switch (stopReason) {
    case 'end_turn':
      return { type: 'completed' }
    case 'max_tokens':
      return { type: 'completed', finish: 'length' }
    // The agent would have gone on.
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

/** A JSON-RPC error as the agent sent it. Some put the provider's words into `data`. */
export interface RpcError {
  readonly code: number
  readonly message: string
  readonly data?: unknown
}

/** -32000: the agent must be logged in. https://agentclientprotocol.com/protocol/schema#errorcode */
export function failureOf({ code, message, data }: RpcError): ReplyFailure {
  const words = wordsOf(data)
  const isRefused = code === -32_000
  // Gemini CLI 0.61 sends the provider's HTTP status as the code, and its JSON as the message.
  const statusCode = isRefused ? 401 : code >= 400 && code < 600 ? code : undefined
  const name = isRefused ? 'unauthorized' : `JSON-RPC ${code}`
  const said = wordsOf(providerError(message)) ?? message
  const all = words === undefined || said.includes(words) ? said : `${said}: ${words}`
  return { name, message: all, ...(statusCode && { statusCode }), raw: { code, message, data } }
}

/** The error in a message that is JSON. */
function providerError(message: string): unknown {
  try {
    const value: unknown = JSON.parse(message)
    return typeof value === 'object' && value !== null && 'error' in value ? value.error : undefined
  } catch {
    return undefined
  }
}

function wordsOf(data: unknown): string | undefined {
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
