import type { Pacer } from '@reply/sink/channel'
import type { DiscordResponse, DiscordRest } from './api.ts'
import { discordLimits } from './limits.ts'

/** The client adds 50 ms to each rate limit, and refuses earlier calls. */
const marginMs = 60

const followed = new WeakSet<DiscordRest>()

/**
 * Follows the rate-limit headers: once the bucket of posts or of edits is empty, pauses the channel until the bucket
 * resets. Registers one listener per client.
 */
export function followHeaders(rest: DiscordRest, pacer: Pacer): void {
  if (followed.has(rest)) return
  followed.add(rest)
  rest.on('response', ({ path }, { headers }) => {
    const id = /^\/channels\/(\d+)\/messages(?:\/\d+)?$/.exec(path)?.[1]
    const forMs = restMs(headers)
    if (id !== undefined && forMs > 0) pacer.chat({ id }, discordLimits).freeze(forMs, 'chat')
  })
}

/** https://discord.com/developers/docs/topics/rate-limits#header-format. Seconds, with fractions. */
function restMs(headers: DiscordResponse['headers']): number {
  if (headers.get('x-ratelimit-remaining') !== '0') return 0
  const seconds = Number(headers.get('x-ratelimit-reset-after'))
  return Number.isFinite(seconds) && seconds > 0 ? Math.ceil(seconds * 1000) + marginMs : 0
}
