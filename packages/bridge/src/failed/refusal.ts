import { PortError } from '@reply/sink/channel'

/** How long a chat that refuses everything is left alone unless a person writes there, in ms. */
export const refusedMs = 3_600_000

/** Whether the chat takes nothing: it is gone, or does not want this bot. */
export function isRefusal(error: unknown): boolean {
  return error instanceof PortError && (error.type === 'refused' || error.type === 'gone')
}
