import type { AnyMessage } from '@agentclientprotocol/sdk'
import { isFields } from './call.ts'

type Decoded =
  | { readonly type: 'update'; readonly params: unknown }
  | { readonly type: 'other'; readonly message: AnyMessage }

/** Tells session updates from other messages. Undefined for what is neither a request nor a response. */
export function decodeMessage(message: unknown): Decoded | undefined {
  if (!isFields(message)) return undefined
  if (message.method === 'session/update' && !('id' in message)) return { type: 'update', params: message.params }
  const isCall = typeof message.method === 'string'
  const isResponse = 'id' in message && ('result' in message || 'error' in message)
  // The SDK checks the rest.
  return isCall || isResponse ? { type: 'other', message: message as unknown as AnyMessage } : undefined
}
